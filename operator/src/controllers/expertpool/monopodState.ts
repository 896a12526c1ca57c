import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import type { Expert } from '@agentfleet/protocol/api';
import { monopodName } from '../../pools/names.ts';
import type { Pod } from '../../runtime/objects.ts';
import {
  enginesIn,
  isReady,
  originOf,
  servingOf,
  withImage,
  type AskInfo,
  type InfoReader,
  type ServerInfo,
  type Serving,
} from '../../serving/index.ts';
import { monopodPlaces } from './monopod.ts';
import type { Obstacle } from './decide.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** An engine as the supervisor of its pod tells it. */
export interface EngineState {
  readonly ready: boolean;
  readonly restarts: number;
  /** How its process ended last, in words. */
  readonly ended: string | undefined;
}

/** What the engines of one pod tell. */
export interface MonopodView {
  readonly infos: ReadonlyMap<string, ServerInfo>;
  /** By the names of experts; empty while the supervisor does not answer, and when the pod is ready. */
  readonly engines: ReadonlyMap<string, EngineState>;
}

type Answer = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Answer => (typeof value === 'object' && value !== null ? (value as Answer) : {});
const count = (value: unknown): number => (typeof value === 'number' && Number.isSafeInteger(value) ? value : 0);
const mostEngines = 64;

function endOf(value: unknown): string | undefined {
  const { code, signal, error } = objectOf(value);
  if (typeof error === 'string') return `did not start: ${error.slice(0, 200)}`;
  if (typeof signal === 'string') return `ended by ${signal.slice(0, 16)}`;
  return typeof code === 'number' ? `ended with exit code ${code}` : undefined;
}

/** What a supervisor tells of its engines; nothing of what is no answer of one. Pure. */
export function engineStates(answer: unknown): ReadonlyMap<string, EngineState> {
  const { children } = objectOf(answer);
  const list = Array.isArray(children) ? children.slice(0, mostEngines).map(objectOf) : [];
  return new Map(
    list.flatMap(({ name, ready, restarts, lastExit }) =>
      typeof name === 'string' ? [[name, { ready: ready === true, restarts: count(restarts), ended: endOf(lastExit) }] as const] : [],
    ),
  );
}

/** The newest pod with engines that has an address. Pure. */
export function newestMonopod(pods: readonly Pod[]): Pod | undefined {
  const age = ({ metadata }: Pod): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  const own = pods.filter((pod) => enginesIn(pod).size > 0 && originOf(pod) !== undefined && pod.metadata.deletionTimestamp === undefined);
  return own.sort((a, b) => (age(a) < age(b) ? 1 : -1))[0];
}

export interface MonopodObserver {
  readonly infos: InfoReader;
  readonly ask: AskInfo;
  readonly clock: Clock;
  readonly log: Log;
}

const timeLimitMs = 2_000;

/** Asks the engines of a pool what they are, and their supervisor which of them are ready when not all are. Never rejects. */
export async function readMonopod(observer: MonopodObserver, pods: readonly Pod[], signal: AbortSignal): Promise<MonopodView | undefined> {
  const pod = newestMonopod(pods);
  const origin = pod === undefined ? undefined : originOf(pod);
  if (pod === undefined || origin === undefined) return undefined;
  const ports = new Map([...enginesIn(pod)].map(([name, { port }]) => [name, port]));
  if (isReady(pod)) return { infos: await observer.infos.readEach(pod, ports, signal), engines: new Map() };
  const limit = deadline(observer.clock, timeLimitMs, signal);
  try {
    const engines = engineStates(await observer.ask(origin, limit.signal, pod.metadata.namespace ?? ''));
    const up = new Map([...ports].filter(([name]) => engines.get(name)?.ready === true));
    return { infos: await observer.infos.readEach(pod, up, signal), engines };
  } catch (error) {
    observer.log.warn('a supervisor did not tell of its engines', { pod: pod.metadata.name, origin, error: asError(error).message });
    return { infos: new Map(), engines: new Map() };
  } finally {
    limit.dispose();
  }
}

/** Whether somebody has to be asked again after a while. Pure. */
export function isSilent({ pods, monopod }: PoolSnapshot): boolean {
  const pod = newestMonopod(pods);
  if (pod === undefined) return false;
  return !isReady(pod) || [...enginesIn(pod).keys()].some((name) => monopod?.infos.has(name) !== true);
}

/** How far the engine of an expert in the one pod is; undefined: it has pods of its own. Pure. */
export function monopodServing(snapshot: PoolSnapshot, expert: Expert, obstacle: Obstacle | undefined): Serving | undefined {
  const { pool, deployments, images, notes, monopod } = snapshot;
  if (!monopodPlaces(snapshot).has(expert.name)) return undefined;
  const deployment = deployments.get(monopodName(pool.metadata.name));
  const pods = snapshot.pods.filter((pod) => enginesIn(pod).has(expert.name)).filter(withImage(images.inference));
  const whole = servingOf({ wanted: 1, deployment, pods, notes, obstacle });
  const told = monopod?.engines.get(expert.name);
  if (whole.fault === undefined || obstacle !== undefined || told === undefined) return whole;
  if (told.ready) return { phase: 'Ready', replicas: 1, ready: 1, fault: undefined };
  const restarts = told.restarts === 0 ? '' : `, restarted ${told.restarts} times`;
  const message = `in pod ${monopodName(pool.metadata.name)}: ${told.ended ?? 'not ready yet'}${restarts}`;
  return { ...whole, ready: 0, fault: { ...whole.fault, message } };
}
