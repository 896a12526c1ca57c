import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import type { Clock, Log } from '@agentfleet/kube';
import type { WeightsReport } from '@agentfleet/protocol/weights';
import { BucketSource } from './bucket.ts';
import type { WeightsConfig } from './config.ts';
import { asWeightsFailure } from './failure.ts';
import { fetchWeights, type Progress } from './fetch.ts';
import { HubSource } from './hub.ts';
import { inspectWeights } from './inspect.ts';
import type { WeightsSource } from './source.ts';

export interface WeightsRun {
  readonly config: WeightsConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const format = 'agentfleet.dev/weights/v1';
const mostMessage = 1000;
const patienceMs = 120_000;

/**
 * Fetches weights where they have to be fetched, reads them, and writes the report.
 * @returns the exit code: 0 when they can be used
 */
export async function runWeights({ config, clock, log, signal }: WeightsRun): Promise<0 | 1> {
  let progress: Progress = { bytesDone: 0, bytesTotal: 0 };
  await using told = await tellProgress(config.port, () => progress);
  log.info('working on weights', { uri: config.uri, port: told.port });
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
  const source = sourceOf(config, clock);
  if (source !== undefined) {
    await mkdir(config.folder, { recursive: true });
    await fetchWeights({ source, folder: config.folder, onProgress, signal });
  }
  return inspectWeights(config.folder, config, signal);
}

/** Where they are fetched from; undefined when they are in the folder already. */
function sourceOf({ uri, bucket, hub, credentialFile }: WeightsConfig, clock: Clock): WeightsSource | undefined {
  if (bucket !== undefined)
    return new BucketSource({
      ...bucket,
      uri,
      ...(credentialFile !== undefined && { credentialFile }),
      spool: tmpdir(),
      clock,
      random: Math.random,
      patienceMs,
    });
  const [, model, revision] = /^hf:\/\/([^@]+)@(.+)$/.exec(uri) ?? [];
  if (model === undefined || revision === undefined) return undefined;
  return new HubSource({ origin: hub, model, revision, clock, ...(credentialFile !== undefined && { tokenFile: credentialFile }) });
}

interface Told extends AsyncDisposable {
  readonly port: number;
}

/** Answers each request with how far it is. */
async function tellProgress(port: number, now: () => Progress): Promise<Told> {
  const server: Server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(now()));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, () => resolve()));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
