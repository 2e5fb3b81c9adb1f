"""The sandbox back ends that come with lmrbench: bubblewrap, landlock, docker and process."""
