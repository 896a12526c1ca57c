import { createHash } from 'node:crypto';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { stat, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { S3Store, StoreFailure } from '@agentfleet/agent/store';
import { isApiError, ResourceClient, type Clock, type Random, type Transport } from '@agentfleet/kube';
import { artifactsDir } from '@agentfleet/protocol/pool';
import { copyName, resultsApi, type ConversationEntry } from '@agentfleet/protocol/results';
import { type Fields, fieldsOf } from '@agentfleet/protocol/text';
import { configMaps } from '../base/connection.ts';
import { CliError, exitCodes } from '../base/failure.ts';
import { Results, type TaskName } from '@agentfleet/client/results';
import { isUnknownResource } from '../base/explain.ts';

const nameOf = ({ metadata: { namespace = 'default', name } }: AgentTask): TaskName => ({ namespace, name });

/** Results of tasks, read under the caller's own rights from the API server. */
export class ResultsApi {
  readonly #results: Results;
  readonly #signal: AbortSignal;

  constructor(transport: Transport, signal: AbortSignal) {
    this.#results = new Results(transport);
    this.#signal = signal;
  }

  /** The content of an artifact. @throws CliError */
  async artifact(task: AgentTask, name: string): Promise<Buffer> {
    try {
      return await this.#results.content(nameOf(task), name, this.#signal);
    } catch (error) {
      throw explained(error, task);
    }
  }

  /** Records of the event log, as they come. @throws CliError */
  log(task: AgentTask): AsyncGenerator<AuditRecord> {
    return explaining(task, this.#results.log(nameOf(task), { signal: this.#signal }));
  }

  /** The conversation, as it goes on; pauses and broken connections are gone over while it is followed. @throws CliError */
  conversation(task: AgentTask, { follow = false }: { readonly follow?: boolean } = {}): AsyncGenerator<ConversationEntry> {
    return explaining(task, this.#results.conversation(nameOf(task), { follow, signal: this.#signal }));
  }
}

async function* explaining<T>(task: AgentTask, lines: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* lines;
  } catch (error) {
    throw explained(error, task);
  }
}

/** Ways to read storage without the API. */
const fallback = 'or read the storage itself: --endpoint and --credential-file, or --file with a copy';

/** The same for the user: what of the results API does not work. */
function explained(thrown: unknown, { metadata: { name, namespace = '' } }: AgentTask): unknown {
  const error = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  // A name that would lead elsewhere.
  if (error instanceof RangeError) return new CliError(error.message, exitCodes.notFound);
  if (!isApiError(error)) return error;
  const message = error.message.trim();
  if (isUnknownResource(error) || message.includes('there is nothing at this path'))
    return new CliError(
      `the cluster does not serve the results API ${resultsApi.apiVersion} of this fleet; switch it on in the chart (results.enabled; without an aggregation layer results.aggregation=false) or upgrade it, ${fallback}`,
      exitCodes.unavailable,
    );
  if (error.code === 403)
    return new CliError(
      `you may not read results of AgentTask ${name} (${message}); ask for the ClusterRole agentfleet-viewer in namespace ${namespace}`,
      exitCodes.forbidden,
    );
  if (error.code === 404) return new CliError(wordsOf(message), exitCodes.notFound);
  if (error.code >= 500)
    return new CliError(`results cannot be read now: ${wordsOf(message)}; see "fleet doctor", ${fallback}`, exitCodes.unavailable);
  return error;
}

/** The server's message, without the request that stands before it. */
function wordsOf(message: string): string {
  return message.replace(/^GET \S+: \d+ \w+: /, '');
}

/** A file that outlived its sandbox, as the status lists it. */
export type Artifact = NonNullable<Run['artifacts']>[number];

/** The artifact of that name; undefined when the task has none. */
export function artifactOf({ status }: AgentTask, name: string): Artifact | undefined {
  return status?.run?.artifacts?.find((artifact) => artifact.name === name);
}

/** Describes how a content differs from the one in the status; null when it does not. */
export function mismatch({ bytes, sha256 }: Pick<Artifact, 'bytes' | 'sha256'>, content: Uint8Array): string | null {
  if (content.length !== bytes) return `it has ${content.length} bytes, the status has ${bytes}`;
  const found = createHash('sha256').update(content).digest('hex');
  return found === sha256 ? null : `its sha256 is ${found}, the status has ${sha256}`;
}

/** The key of an address below the address of a bucket or prefix. */
export function keyIn(place: string, uri: string): string {
  const prefix = `${place.replace(/\/$/, '')}/`;
  if (!uri.startsWith(prefix)) throw new Error(`${uri} does not lie in ${place}: the pool stores elsewhere`);
  return uri.slice(prefix.length);
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Lists the notes of the worker of one kind, oldest first. */
export function notesOf(records: readonly AuditRecord[], kind: string): readonly Fields[] {
  return records.filter(({ type, body }) => type === 'Noted' && body['kind'] === kind).map(({ body }) => fieldsOf(body['data']));
}

/** Source of the content of an artifact. */
export interface ArtifactFlags {
  /** A copy that was fetched before. */
  readonly file?: string;
  /** Origin of the S3 API of the bucket. */
  readonly endpoint?: string;
  /** File with access key id, a colon, secret key; absent: nothing is signed. */
  readonly credentialFile?: string;
  readonly region?: string;
}

export interface Fetching {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** The way to the API server, which serves results; absent: none is asked. */
  readonly transport?: Transport;
  /** Gets where a content comes from, when that is not where it should. */
  readonly warn?: (line: string) => void;
}

interface Obtained {
  readonly artifact: Artifact;
  readonly content: Buffer;
  /** Difference from the artifact in the status; null when there is none. */
  readonly wrong: string | null;
}

/** The largest copy that is read: ten times what a pool stores of one artifact. */
const maxBytes = 640 * 1024 * 1024;
const maxWaitMs = 20_000;

/** Content of an artifact from a copy or from its bucket. @throws CliError with its place when it cannot be had */
export async function obtain(task: AgentTask, name: string, flags: ArtifactFlags, fetching: Fetching): Promise<Obtained> {
  const artifact = artifactOf(task, name);
  if (artifact === undefined) throw missing(task, name);
  const content = flags.file === undefined ? await fetched(task, artifact, flags, fetching) : await copy(flags.file);
  return { artifact, content, wrong: mismatch(artifact, content) };
}

/** The same, whole and as the status lists it: from a copy, the storage where flags name it, else the results API. What is not is refused. */
export async function obtainIntact(...[task, name, flags, fetching]: Parameters<typeof obtain>): Promise<Buffer> {
  const { artifact, content, wrong } = await obtain(task, name, flags, fetching);
  if (wrong === null) return content;
  throw new CliError(
    `${flags.file ?? artifact.uri} is not ${name} of AgentTask ${task.metadata.name}: ${wrong}; take the one at ${artifact.uri}`,
  );
}

function missing({ metadata, status }: AgentTask, name: string): CliError {
  const why = `artifacts are stored when an attempt ends (phase ${status?.phase ?? 'Pending'})`;
  return new CliError(`AgentTask ${metadata.name} has no artifact ${name}: ${why}; see "fleet show ${metadata.name}"`, exitCodes.notFound);
}

async function copy(file: string): Promise<Buffer> {
  const found = await stat(file).catch((error: unknown) => {
    throw new CliError(`${file} cannot be read (${error instanceof Error ? error.message : String(error)}); correct --file`);
  });
  if (!found.isFile() || found.size > maxBytes) throw new CliError(`${file} is no file of at most ${maxBytes} bytes; correct --file`);
  return readFile(file);
}

/** A shell command that copies a file out of a worker of the task's pool, whose image has Node and no tar, as `kubectl cp` needs. */
export function copyCommand({ metadata, spec }: AgentTask, name: string, path: string): string {
  const { name: pool = 'POOL', namespace = metadata.namespace ?? 'default' } = spec.poolRef ?? {};
  const kubectl = `kubectl --namespace ${namespace}`;
  const workers = `--selector agentfleet.dev/component=worker,agentfleet.dev/pool=${pool} --output name`;
  return `${kubectl} exec "$(${kubectl} get pods ${workers} | head -n 1)" -- node --eval "fs.createReadStream('${artifactsDir}/${path}').pipe(process.stdout)" > ${name}`;
}

interface ApiFetching extends Pick<Fetching, 'signal' | 'warn'> {
  readonly transport: Transport;
}

/** The copy of a small artifact in a ConfigMap of the task's namespace; undefined where there is none, or where it may not be read. */
async function copied({ metadata }: AgentTask, name: string, { transport, signal }: ApiFetching): Promise<Buffer | undefined> {
  const { namespace = 'default', uid = '' } = metadata;
  const found = await new ResourceClient(transport, configMaps)
    .find({ namespace, name: copyName(uid) }, { signal })
    .catch((error: unknown) => {
      if (isApiError(error) && error.code === 403) return undefined;
      throw error;
    });
  const [text, bytes] = [found?.data?.[name], found?.binaryData?.[name]];
  return text !== undefined ? Buffer.from(text) : bytes === undefined ? undefined : Buffer.from(bytes, 'base64');
}

/** Reads an artifact by the results API, else from the ConfigMap that stands in for it; if both fail, the error names the place of it. */
async function byApi(task: AgentTask, { name, uri }: Pick<Artifact, 'name' | 'uri'>, fetching: ApiFetching): Promise<Buffer> {
  const { transport, signal, warn } = fetching;
  try {
    return await new ResultsApi(transport, signal).artifact(task, name);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.unavailable) throw error;
    const copy = await copied(task, name, fetching);
    if (copy !== undefined) {
      warn?.(`${name} is read from ConfigMap ${copyName(task.metadata.uid ?? '')}, as the results API cannot be used`);
      return copy;
    }
    const [, path] = /^pvc:\/\/[^/]+\/(.*)$/s.exec(uri) ?? [];
    const command = path === undefined ? '' : `; from a worker, which mounts the claim, it is copied by:\n${copyCommand(task, name, path)}`;
    throw new CliError(`${name} lies at ${uri}; ${error.message}${command}`, error.exitCode);
  }
}

async function fetched(
  task: AgentTask,
  { name, uri }: Artifact,
  flags: ArtifactFlags,
  { clock, random, signal, transport, warn }: Fetching,
): Promise<Buffer> {
  if (flags.endpoint === undefined && transport !== undefined)
    return byApi(task, { name, uri }, { transport, signal, ...(warn === undefined ? {} : { warn }) });
  const [, scheme, owner = '', path = ''] = /^(\w+):\/\/([^/]+)\/(.*)$/s.exec(uri) ?? [];
  if (scheme === 'pvc')
    throw new CliError(
      `${name} lies on the volume of PersistentVolumeClaim ${owner} at ${path}; copy it out of a worker, which mounts the claim, then name it with --file:\n${copyCommand(task, name, path)}`,
    );
  if (scheme !== 's3' || flags.endpoint === undefined)
    throw new CliError(`${name} lies at ${uri}; fetch it and name it with --file, or give --endpoint and --credential-file of the store`);
  const { endpoint, credentialFile, region = 'us-east-1' } = flags;
  const place = `s3://${owner}`;
  const signing = credentialFile === undefined ? {} : { credentialFile };
  try {
    const address = { uri: place, endpoint, region, forcePathStyle: true, ...signing };
    return await new S3Store({ ...address, spool: tmpdir(), clock, random, maxWaitMs }).get(keyIn(place, uri), signal);
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    throw new CliError(`${error.message}; check --endpoint, --region and --credential-file, or fetch ${uri} and name it with --file`);
  }
}
