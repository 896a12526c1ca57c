interface Session {
  readonly user: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

/** Users whose session has not ended; `now` is in milliseconds since 1970. */
export function aliveUsers(sessions: readonly Session[], now: number): string[] {
  return sessions.filter((session) => session.expires > now).map((session) => session.user);
}
