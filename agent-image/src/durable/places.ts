/** Where a task's durable copies lie below the prefix of its pool. */
export interface TaskPlaces {
  readonly folder: string;
  readonly logs: string;
  readonly checkpoint: (number: number) => string;
  readonly log: (range: LogRange) => string;
}

/** Records of one file of the event log, and the epoch of who wrote it. */
export interface LogRange {
  readonly from: number;
  readonly to: number;
  readonly epoch: number;
}

export const checkpointsFolder = 'checkpoints/';
export const packsFolder = 'packs/';
/** Marks of what a sweep found useless, for the next one. */
export const doomedFolder = 'doomed/';

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');

export function placesOf(task: { readonly namespace: string; readonly uid: string }): TaskPlaces {
  const folder = `${checkpointsFolder}${task.namespace}/${task.uid}/`;
  return {
    folder,
    logs: `${folder}log/`,
    checkpoint: (number) => `${folder}${pad(number, 14)}.json`,
    log: ({ from, to, epoch }) => `${folder}log/${pad(from, 12)}-${pad(to, 12)}-${pad(epoch, 10)}`,
  };
}

/** Number of a checkpoint by its key; null for what is none. Numbers grow with the epoch, so that nobody who was replaced comes last. */
export function checkpointNumber(key: string): number | null {
  const found = /^checkpoints\/[^/]+\/[^/]+\/(\d{14})\.json$/.exec(key)?.[1];
  return found === undefined ? null : Number(found);
}

/** The folder of a task by the key of one of its checkpoints. */
export function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}

const perEpoch = 10_000;

/** The number that follows those that exist, under an epoch. */
export function nextNumber(existing: readonly number[], epoch: number): number {
  return Math.max(epoch * perEpoch, ...existing.map((one) => one + 1));
}

export function logRange(key: string): LogRange | null {
  const found = /\/log\/(\d{12})-(\d{12})-(\d{10})$/.exec(key);
  return found === null ? null : { from: Number(found[1]), to: Number(found[2]), epoch: Number(found[3]) };
}

export const packKey = (name: string): string => `${packsFolder}${name}.pack`;
export const indexKey = (name: string): string => `${packsFolder}${name}.index`;
export const manifestKey = (name: string): string => `${packsFolder}${name}.manifest`;
export const doomedKey = (name: string): string => `${doomedFolder}${name}`;

/** Name of a pack, its index or a manifest by its key; null for what is none. */
export function blobName(key: string): string | null {
  return /^packs\/([0-9a-f]{64}(?:-[0-9a-f]{8})?)\.(?:pack|index|manifest)$/.exec(key)?.[1] ?? null;
}
