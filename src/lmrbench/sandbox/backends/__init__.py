"""The sandbox back ends: bubblewrap, Docker and a plain process."""
