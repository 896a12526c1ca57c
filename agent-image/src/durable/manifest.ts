/** Names and contents of checkpoints and packs in the store. Pure but for `readSealer`, which reads the pool's key. */
import { createHash } from 'node:crypto';
import { asError } from '@agentfleet/kube';
import {
  manifestFiles,
  maxPartBytes,
  partHeaderBytes,
  type AuditRecord,
  type Part,
  type SnapshotRecord,
} from '@agentfleet/protocol/keeper';
import { fieldsOf } from '@agentfleet/protocol/text';
import { DurableFailure } from './failure.ts';
import { type Sealer, createSealer, keyBytes } from './seal.ts';
import { readFile } from 'node:fs/promises';
import { AttemptFailure } from '../base/failure.ts';
import { jsonIn } from '../base/text.ts';

/** A content that a snapshot names. */
export interface Content {
  readonly sha256: string;
  readonly size: number;
}

/** Bytes of one pack with its headers, about; a larger content is spread over several. */
const packBytes = maxPartBytes;

export function manifestDigest(text: Uint8Array): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Returns the contents of a manifest's files, each once, in the order of their paths. @throws Error on a line of another form */
export function contentsOf(text: Buffer): readonly Content[] {
  const found = new Map<string, Content>();
  for (const { type, sha256, size } of manifestFiles(text)) if (type === 'f' && !found.has(sha256)) found.set(sha256, { sha256, size });
  return [...found.values()];
}

/** Spreads contents over packs, in their order: the same contents in the same order make the same packs. */
export function planPacks(contents: readonly Content[]): readonly (readonly Part[])[] {
  const packs: Part[][] = [];
  let open: Part[] = [];
  let bytes = 0;
  const close = (): void => {
    if (open.length > 0) packs.push(open);
    open = [];
    bytes = 0;
  };
  for (const { sha256, size } of contents) {
    for (let offset = 0; offset < size || offset === 0; offset += packBytes) {
      const length = Math.min(packBytes, size - offset);
      if (bytes + length + partHeaderBytes > packBytes + partHeaderBytes || open.length >= maxPartsOfPack) close();
      open.push({ sha256, size, offset, length });
      bytes += length + partHeaderBytes;
    }
  }
  close();
  return packs;
}

/** So that the request for a pack of many small files stays small. */
const maxPartsOfPack = 16_384;

/** Record numbers of one file of the event log, and the epoch of its writer. */
export interface LogRange {
  readonly from: number;
  readonly to: number;
  readonly epoch: number;
}

export const checkpointsFolder = 'checkpoints/';
export const packsFolder = 'packs/';
/** Marks of unreferenced blobs by one sweep, for the next one. */
export const doomedFolder = 'doomed/';

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');

/** Returns the paths of a task's durable copies below the prefix of its pool. */
export function placesOf(task: { readonly namespace: string; readonly uid: string }) {
  const folder = `${checkpointsFolder}${task.namespace}/${task.uid}/`;
  return {
    folder,
    logs: `${folder}log/`,
    checkpoint: (number: number) => `${folder}${pad(number, 14)}.json`,
    log: ({ from, to, epoch }: LogRange) => `${folder}log/${pad(from, 12)}-${pad(to, 12)}-${pad(epoch, 10)}`,
  };
}

export type TaskPlaces = ReturnType<typeof placesOf>;

/**
 * Parses the number of a checkpoint from its key; null for other keys. Numbers grow with the epoch, so that a replaced
 * worker never comes last.
 */
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

/** The records in a file of the event log, each with its line; ends before one that was cut. */
export function* recordsIn(text: Buffer): Generator<{ readonly record: AuditRecord; readonly line: Buffer }> {
  for (let at = 0, end = text.indexOf(0x0a); end !== -1; at = end + 1, end = text.indexOf(0x0a, at)) {
    const line = text.subarray(at, end + 1);
    const record = jsonIn(line.toString('utf8'));
    if (record === undefined) return;
    yield { record: record as AuditRecord, line };
  }
}

export const packKey = (name: string): string => `${packsFolder}${name}.pack`;
export const indexKey = (name: string): string => `${packsFolder}${name}.index`;
export const manifestKey = (name: string): string => `${packsFolder}${name}.manifest`;
export const doomedKey = (name: string): string => `${doomedFolder}${name}`;

/** Parses the name of a pack, its index or a manifest from its key; null for other keys. */
export function blobName(key: string): string | null {
  return /^packs\/([0-9a-f]{64}(?:-[0-9a-f]{8})?)\.(?:pack|index|manifest)$/.exec(key)?.[1] ?? null;
}

const format = 'agentfleet.dev/checkpoint/v1';

/** Content of a checkpoint. */
export interface Checkpoint {
  readonly task: { readonly namespace: string; readonly uid: string };
  readonly epoch: number;
  /** RFC 3339. */
  readonly at: string;
  /** The newest record that the named files of the log hold. */
  readonly head: { readonly seq: number; readonly hash: string };
  /** Oldest first. */
  readonly snapshots: readonly SnapshotRecord[];
  /** Manifest of each snapshot, by id: the name of its blob. */
  readonly manifests: Readonly<Record<string, string>>;
  readonly logs: readonly LogRange[];
}

/** Facts by which a sweep finds that a task has ended, or is gone, without a last checkpoint. */
export interface ActiveTask {
  /** Uid of the pool. */
  readonly pool: string;
  /** Seconds for which the checkpoint is needed after the end. */
  readonly keepSeconds: number;
}

/** Readable for all readers of the store: names without meaning, so that a sweep needs no key. */
export interface Envelope {
  readonly format: typeof format;
  readonly packs: readonly string[];
  readonly manifests: readonly string[];
  /** RFC 3339; after it the checkpoint is not needed. Null while the task is active. */
  readonly expires: string | null;
  /** Present while the task is active, unless its worker did not know its pool. */
  readonly active?: ActiveTask;
  /** The sealed checkpoint, base64. */
  readonly body: string;
}

/** Names of the packs and manifests of a checkpoint. */
export type Names = Pick<Envelope, 'packs' | 'manifests'>;

export async function encodeCheckpoint(
  sealer: Sealer,
  key: string,
  checkpoint: Checkpoint,
  { packs, expires, active }: Pick<Envelope, 'packs' | 'expires' | 'active'>,
): Promise<string> {
  const manifests = [...new Set(Object.values(checkpoint.manifests))];
  const body = (await sealer.seal(key, Buffer.from(JSON.stringify(checkpoint)))).toString('base64');
  return envelopeText({ format, packs, manifests, expires, ...(active !== undefined && { active }), body });
}

export function envelopeText(envelope: Envelope): string {
  return `${JSON.stringify(envelope)}\n`;
}

/** @throws DurableFailure `Damaged` */
export function readEnvelope(key: string, content: Buffer): Envelope {
  const envelope = fieldsOf(jsonIn(content.toString('utf8'))) as Partial<Envelope>;
  const names = (list: unknown): boolean => Array.isArray(list) && list.every((one) => typeof one === 'string');
  const known = envelope.format === format && typeof envelope.body === 'string';
  if (known && names(envelope.packs) && names(envelope.manifests)) return envelope as Envelope;
  throw new DurableFailure('Damaged', `${key} is no checkpoint: it was cut, or something else lies there`);
}

/** @throws DurableFailure `Damaged`, `WrongKey` */
export async function openCheckpoint(sealer: Sealer, key: string, envelope: Envelope): Promise<Checkpoint> {
  const content = await sealer.open(key, Buffer.from(envelope.body, 'base64'));
  return JSON.parse(content.toString('utf8')) as Checkpoint;
}

/** Keys of a pool at once: the current one and those that are going. */
const maxKeys = 8;
const field = 'spec.storage.encryption.credential';

/** The sealer of a pool. Read each time, because a Secret that is mounted may change. @throws AttemptFailure when the key is none */
export async function readSealer(keyFile: string | undefined): Promise<Sealer> {
  if (keyFile === undefined) return createSealer(null);
  let text: string;
  try {
    text = await readFile(keyFile, 'utf8');
  } catch (error) {
    throw unusable(`cannot be read (${asError(error).message})`);
  }
  const [key, ...earlier] = parseKeys(text) ?? [];
  if (key === undefined) throw unusable(`is not the base64 of ${keyBytes} bytes in each of 1 to ${maxKeys} lines`);
  return createSealer(key, earlier);
}

/** Parses the keys in a Secret's value, one a line: the first seals, the others open older blobs. Null when one is invalid. */
export function parseKeys(text: string): readonly Buffer[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const keys = lines.map(parseKey).filter((key) => key !== null);
  return keys.length === lines.length && keys.length > 0 && keys.length <= maxKeys ? keys : null;
}

function parseKey(text: string): Buffer | null {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  return key.length === keyBytes && key.toString('base64') === trimmed ? key : null;
}

function unusable(why: string): AttemptFailure {
  const cure = 'correct the Secret of that credential: `head -c 32 /dev/urandom | base64`';
  return new AttemptFailure('Infrastructure', 'EncryptionKeyInvalid', `the key that ${field} of the pool names ${why}; ${cure}`);
}
