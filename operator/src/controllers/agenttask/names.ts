/** Names that manifests, policies and selectors share. */
export { homeDir, keeperPort, workspaceDir } from '@agentfleet/protocol/keeper';
export { labels } from '@agentfleet/protocol/pool';

/** Secret with the key by which keeper and runner recognise each other, in every namespace with sandboxes. */
export const linkSecret = { name: 'agentfleet-link', key: 'key' } as const;

/** ConfigMap with the cluster's token signing keys, in every namespace with sandboxes. */
export const jwksConfigMap = 'agentfleet-jwks';

/** Uid and gid of both containers: one owner for all files, so that the keeper reads a 0600 file too. */
export const sandboxUid = 10_001;

/** Folder of the runner and its link inside the user's container. */
export const hiddenDir = '/.agentfleet';

/** Where the keeper sees /tmp of the user's container, to measure it. */
export const scratchDir = '/mnt/tmp';
export const storeDir = '/var/lib/agentfleet';

/** Keeps a sandbox pod until none of its containers runs, so that the next sandbox is the only one. */
export const sandboxFinalizer = 'agentfleet.dev/sandbox';
