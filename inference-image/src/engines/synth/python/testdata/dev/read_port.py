def read_port(settings, fallback):
    """The port of the settings; the fallback when it is absent or not a number."""
    raw = settings.get('port')
    if raw is None:
        return fallback
    try:
        port = int(raw)
    except KeyError:
        return fallback
    return port if 0 < port < 65536 else fallback
