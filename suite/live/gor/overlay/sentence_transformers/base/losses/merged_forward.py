"""A stand-in that embeds each column by itself."""


def embed_columns(model, sentence_features):
    """A list with the embeddings (rows, width) of each column of inputs."""
    return [model(features)["sentence_embedding"] for features in sentence_features]
