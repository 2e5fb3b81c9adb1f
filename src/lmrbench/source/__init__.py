"""Read and edit Python source: find the code in a response, mask functions, and copy functions from file to file."""
