import { randomUUID } from 'node:crypto';
import { bearerFromFile, gateOf, type Bearer } from '@agentfleet/protocol/tokens';
import { errorFields, type Logger } from '../logger.ts';
import { listen } from '../listen.ts';
import { createTurnstileApp } from './app.ts';
import { TurnstileClient } from './client.ts';
import type { TurnsConfig, TurnstileConfig } from './config.ts';
import { Driver } from './driver.ts';
import { httpEngines, type Engines } from './engines.ts';
import { TurnstileMetrics } from './metrics.ts';
import type { Look } from './member.ts';
import { Turns, type Command } from './turns.ts';

/** Words on the command line. */
export const turnstileWord = 'turnstile';
export const awaitTurnWord = 'await-turn';

export interface TurnstileOptions {
  readonly config: TurnstileConfig;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly engines?: Engines;
}

export interface RunningTurnstile {
  readonly address: string;
  stop(): Promise<void>;
}

/** Says which of the engines that share a GPU is awake. */
export async function runTurnstile({ config, logger, now, engines = httpEngines }: TurnstileOptions): Promise<RunningTurnstile> {
  const metrics: TurnstileMetrics = new TurnstileMetrics(() => turns.views());
  const turns = new Turns({
    times: config.times,
    now,
    boot: randomUUID(),
    onTurn: (item) => {
      metrics.turns.inc({ item });
      logger.log('info', 'a turn begins', { item });
    },
    onGrant: (_item, waitedMs) => metrics.wait.observe(waitedMs / 1000),
  });
  const onCommand = (command: Command, look: Look, millis: number): void => {
    if (command.kind === 'Look') return;
    const { kind, pod } = command;
    const done = look.kind === (kind === 'Sleep' ? 'Asleep' : 'Awake');
    metrics.move.observe({ move: kind }, millis / 1000);
    const told = { pod, move: kind, is: look.kind, fault: look.fault, millis: Math.round(millis) };
    logger.log(done ? 'info' : 'error', done ? 'an engine was moved' : 'an engine did not do what it was told', told);
  };
  const driver = new Driver({ turns, engines, timer, now, onCommand });
  const onError = (error: unknown): void => logger.log('error', 'the key file cannot be read', errorFields(error));
  const gate = gateOf(config.access, { clock: { now: () => Date.now() }, onError });
  const app = createTurnstileApp({ turns, driver, metrics, gate });
  const stop = async (): Promise<void> => {
    driver.close();
    await app.close();
  };
  return { address: await listen(app, config.listen), stop };
}

/** Waits until the engine of this pod may start. */
export async function awaitTurn({ turnstile, self, tokenFile }: TurnsConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  const bearer = bearerOf(tokenFile, (error) => logger.log('warn', 'the token cannot be read', errorFields(error)));
  const client = new TurnstileClient({ turnstile, self, bearer, newId: randomUUID });
  let told = '';
  await client.mayLoad(signal, (error) => {
    const { message, cause } = error as Error;
    const words = cause instanceof Error ? `${message}: ${cause.message}` : message;
    // Once for each thing that is wrong: it asks again ten times a second.
    if (words !== told) logger.log('warn', 'the turnstile does not answer', { turnstile, error: words });
    told = words;
  });
  logger.log('info', 'the engine may start', { item: self.item });
}

/** The token for a turnstile; without a file it is asked without one. */
export function bearerOf(file: string | null, onError: (error: unknown) => void): Bearer {
  return file === null ? () => Promise.resolve(undefined) : bearerFromFile(file, { now: () => Date.now() }, onError);
}

function timer(millis: number, callback: () => void): () => void {
  const handle = setTimeout(callback, millis);
  return () => clearTimeout(handle);
}
