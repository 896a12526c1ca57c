def parse_settings(text):
    """Lines NAME=VALUE as a dictionary; comments and empty lines are skipped."""
    settings = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        name, value = line.split('=')
        settings[name.strip()] = value.strip()
    return settings
