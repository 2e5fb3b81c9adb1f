"""The sandbox back ends that come with lmrbench: bubblewrap, Docker and a plain process."""
