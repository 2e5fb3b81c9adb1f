"""The two means of the paper, over the cells of specified identities."""


def get_delta(matrix, group_option):
    names = identities(group_option)[1:]
    groups = [ethnic_group(name) for name in names] if group_option == "ethnicity" else names
    same = np.array([[one == other for other in groups] for one in groups])
    cells = matrix[1:, 1:]
    return float(cells[same].mean() - cells[~same].mean())
