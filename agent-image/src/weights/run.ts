import { ConfigError, parsePath, reader, type Env } from '@agentfleet/protocol/environment';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import type { Clock, Log } from '@agentfleet/kube';
import type { WeightsReport } from '@agentfleet/protocol/weights';
import { bucketSource, hubSource, type WeightsSource } from './source.ts';
import { fetchWeights, type Progress } from './fetch.ts';
import { asWeightsFailure, WeightsFailure } from './failure.ts';
import { inspectWeights } from './inspect.ts';

/** @throws ConfigError with all faults */
export function readWeightsConfig(env: Env) {
  const faults: string[] = [];
  const read = reader(env, faults, 'the job of the operator');
  const optional = (name: string): string | undefined => env[name] || undefined;
  const uri = read('AGENTFLEET_WEIGHTS_URI', String);
  // For s3://.
  const bucket = uri?.startsWith('s3://')
    ? {
        endpoint: read('AGENTFLEET_S3_ENDPOINT', String),
        region: read('AGENTFLEET_S3_REGION', String),
        forcePathStyle: env['AGENTFLEET_S3_PATH_STYLE'] === 'true',
      }
    : undefined;
  const config = {
    uri,
    /** Folder with the files, or their destination. */
    folder: read('AGENTFLEET_WEIGHTS_FOLDER', parsePath),
    digest: optional('AGENTFLEET_WEIGHTS_DIGEST'),
    /** File for the report. */
    report: read('AGENTFLEET_REPORT', parsePath, '/dev/termination-log'),
    /** Port on which it reports its progress; 0: a free one. */
    port: Number(read('AGENTFLEET_PORT', String, '7080')),
    bucket,
    /** For hf://, an origin. */
    hub: read('AGENTFLEET_HUB', String, 'https://huggingface.co'),
    credentialFile: optional('AGENTFLEET_CREDENTIAL_FILE'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

type WeightsConfig = Readonly<ReturnType<typeof readWeightsConfig>>;

interface WeightsRun {
  readonly config: WeightsConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const format = 'agentfleet.dev/weights/v1';
const mostMessage = 1000;
const maxWaitMs = 120_000;

/**
 * Fetches weights where they have to be fetched, reads them, and writes the report.
 * @returns the exit code: 0 when they can be used
 */
export async function runWeights({ config, clock, log, signal }: WeightsRun): Promise<0 | 1> {
  let progress: Progress = { bytesDone: 0, bytesTotal: 0 };
  await using reported = await serveProgress(config.port, () => progress);
  log.info('working on weights', { uri: config.uri, port: reported.port });
  const report = await work(config, clock, signal, (now) => (progress = now)).catch((error: unknown): WeightsReport => {
    const { fault, message } = asWeightsFailure(error);
    return { format, fault, message: message.slice(0, mostMessage) };
  });
  log.info('done', { report: JSON.stringify(report) });
  await writeFile(config.report, JSON.stringify(report));
  return 'fault' in report ? 1 : 0;
}

async function work(
  config: WeightsConfig,
  clock: Clock,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<WeightsReport> {
  const { folder, digest } = config;
  const source = sourceOf(config, clock);
  if (source === undefined) return inspectWeights(folder, config, signal);
  await mkdir(folder, { recursive: true });
  const kept = await fetchWeights({ source, folder, onProgress, signal });
  try {
    return await inspectWeights(folder, config, signal);
  } catch (error) {
    const mismatched = error instanceof WeightsFailure && error.fault === 'DigestMismatch';
    if (!mismatched || kept === 0 || digest === undefined) throw error;
    // Files that were kept may have been damaged in the folder.
    if ((await fetchWeights({ source, folder, missed: digest, onProgress, signal })) > 0) throw error;
  }
  return inspectWeights(folder, config, signal);
}

/** Returns the source of the files; undefined when they are in the folder already. */
function sourceOf({ uri, bucket, hub, credentialFile }: WeightsConfig, clock: Clock): WeightsSource | undefined {
  const retries = { clock, random: Math.random, maxWaitMs };
  if (bucket !== undefined)
    return bucketSource({ ...bucket, uri, ...(credentialFile !== undefined && { credentialFile }), spool: tmpdir(), ...retries });
  const [, model, revision] = /^hf:\/\/([^@]+)@(.+)$/.exec(uri) ?? [];
  if (model === undefined || revision === undefined) return undefined;
  return hubSource({ origin: hub, model, revision, ...retries, ...(credentialFile !== undefined && { tokenFile: credentialFile }) });
}

/** Answers each request with how far it is. */
async function serveProgress(port: number, now: () => Progress): Promise<AsyncDisposable & { readonly port: number }> {
  const server: Server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(now()));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, () => resolve()));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
