type Settings = Record<string, unknown>;

const defaults: Settings = { theme: 'light', pageSize: 20, sound: true };

/** The user's settings, completed by the defaults. */
export function mergeSettings(user: Settings): Settings {
  const known = Object.keys(user).filter((key) => key in defaults);
  const chosen = Object.fromEntries(known.map((key) => [key, user[key]]));
  return { ...chosen, ...defaults };
}
