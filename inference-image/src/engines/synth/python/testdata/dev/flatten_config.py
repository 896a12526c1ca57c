def flatten_config(config, prefix=''):
    """Nested settings as one level of dotted names."""
    flat = {}
    for key, value in config.items():
        path = prefix + '.' + key if prefix else key
        if isinstance(value, dict):
            flat.update(flatten_config(value, prefix))
        else:
            flat[path] = value
    return flat
