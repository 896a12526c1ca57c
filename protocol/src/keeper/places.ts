// protocol, keeper: port of the keeper and folders of the sandbox. May import environment alone.

/** Port of the keeper's HTTP API. */
export const keeperPort = 7070;

/** Folders of the sandbox, the same for keeper and tools; snapshots cover both. */
export const workspaceDir = '/workspace';
export const homeDir = '/home/agent';
