import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { itemOf } from '../../placement/index.ts';
import { turnstileName } from '../../pools/names.ts';
import { exceeded, firstTrouble, rolledOut } from '../../serving/index.ts';
import type { Word } from './conditions.ts';
import type { Manifest } from './manifests/manifest.ts';
import { turnstileLabel, turnstileManifests, turnstileUrl, type Turnstile } from './manifests/turnstile.ts';
import { identity } from './ownership.ts';
import { serversOf } from './servers.ts';
import type { PoolSnapshot } from './snapshot.ts';

const defaults = { turnSeconds: 20, loadSeconds: 1800 } as const;

/** An item begins with the name of its expert, which has no dot. */
const expertIn = (item: string): string => item.split('.')[0] ?? item;

/** The longest of a time; a default where there is none. */
const longest = (all: readonly (number | undefined)[], otherwise: number): number =>
  Math.max(...(all.length === 0 ? [otherwise] : all.map((one) => one ?? otherwise)));

const placeOf = ({ status }: ExpertPool, expert: Expert, revision: string | undefined) =>
  status?.plan?.assignments.find(({ item }) => item === itemOf(expert.name, revision));

/**
 * An expert as the ledger counts it: whether its engine takes turns changes with its place, not before, as there may be no room for
 * another one that is always awake. Pure.
 */
export function asCounted(pool: ExpertPool, expert: Expert, revision: string | undefined): Expert {
  const place = placeOf(pool, expert, revision);
  const turns = place?.awakeBytes !== undefined;
  if (place === undefined || turns === (expert.residency === 'Swap')) return expert;
  return { ...expert, residency: turns ? 'Swap' : 'Always' };
}

/** Where an engine gets its turns; undefined for one that has its GPU always, and while it has no place. Pure. */
export function turnOf(pool: ExpertPool, expert: Expert, revision: string | undefined) {
  const place = placeOf(pool, expert, revision);
  if (place?.awakeBytes === undefined) return {};
  return { turn: { turnstile: turnstileUrl(pool, place.slot), item: place.item } };
}

/** The slots of a pool on which engines take turns, by the plan in force: also while the last of them is leaving. Pure. */
export function turnstilesOf(snapshot: PoolSnapshot): readonly Turnstile[] {
  const { assignments = [], mode } = snapshot.pool.status?.plan ?? {};
  const taking = mode === undefined ? [] : assignments.filter(({ awakeBytes }) => awakeBytes !== undefined);
  const servers = new Map(serversOf(snapshot).map(({ expert, revision }) => [itemOf(expert.name, revision), expert]));
  return [...new Set(taking.map(({ slot }) => slot))].sort().map((slot): Turnstile => {
    const items = taking.filter((place) => place.slot === slot).map(({ item }) => item);
    const experts = items.flatMap((item) => servers.get(item) ?? []);
    const turns = experts.map(({ engine }) => (engine.type === 'VLLM' ? engine.vLLM.turnSeconds : undefined));
    const loads = experts.map(({ warmup }) => warmup?.timeoutSeconds);
    return {
      slot,
      experts: [...new Set(items.map(expertIn))].sort(),
      turnSeconds: longest(turns, defaults.turnSeconds),
      loadSeconds: longest(loads, defaults.loadSeconds),
    };
  });
}

/** What says whose turn it is, for each slot on which engines take turns. Pure. */
export function turnstileParts(snapshot: PoolSnapshot): readonly Manifest[] {
  const site = { ...snapshot, image: snapshot.images.inference };
  return turnstilesOf(snapshot).flatMap((turnstile) => turnstileManifests(site, turnstile));
}

/** What stays although it is not to be made now: without a plan nobody has looked. As `group/plural/name`. Pure. */
export function keptTurnstiles({ pool, children }: PoolSnapshot): readonly string[] {
  if (pool.status?.plan !== undefined) return [];
  const own = children.filter(({ object }) => object.metadata.labels?.[labels.component] === 'turnstile');
  return own.map(({ resource, object }) => identity(resource, object.metadata.name));
}

/** Turnstiles that do not answer; undefined: all do. Pure. */
export function turnsWord(snapshot: PoolSnapshot): Word | undefined {
  const { pool, deployments, pods, notes } = snapshot;
  const silent = turnstilesOf(snapshot).flatMap(({ slot, experts }) => {
    const name = turnstileName(pool.metadata.name, slot);
    const deployment = deployments.get(name);
    if (rolledOut(deployment, 1)) return [];
    const own = pods.filter(({ metadata }) => metadata.labels?.[turnstileLabel] === name);
    const why = firstTrouble(own, notes) ?? 'its pod is not ready';
    const message = `engines on ${slot} (${experts.join(', ')}) that sleep cannot be woken: Deployment ${name}: ${why}; see to that pod`;
    return [{ message, stalled: exceeded(deployment) }];
  });
  if (silent.length === 0) return undefined;
  const message = silent.map((word) => word.message).join('; ');
  return { status: 'False', reason: 'TurnstileNotReady', message, ...(silent.some(({ stalled }) => stalled) ? { stalled: true } : {}) };
}
