def live_sessions(sessions, now, default_ttl=60):
    """Names of the sessions that are still alive; a session may have its own ttl."""
    live = []
    for name, session in sorted(sessions.items()):
        ttl = session.get('ttl', default_ttl)
        started = session['started']
        expires = started + default_ttl
        if now < expires:
            live.append(name)
    return live
