"""What the package's CUDA extension does, on the CPU: blocks (N, D, H, H) onto diagonals (N, DH, DH), and back."""


def forward(blocks):
    """A list of one tensor: each row of blocks as a matrix that is zero elsewhere."""
    count, number, size, _ = blocks.shape
    spread = blocks.new_zeros(count, number, size, number, size)
    for place in range(number):
        spread[:, place, :, place] = blocks[:, place]
    return [spread.reshape(count, number * size, number * size)]


def backward(gradient, blocks):
    """A list of one tensor: the gradient of the blocks."""
    count, number, size, _ = blocks.shape
    spread = gradient.reshape(count, number, size, number, size)
    return [spread.diagonal(dim1=1, dim2=3).permute(0, 3, 1, 2).contiguous()]
