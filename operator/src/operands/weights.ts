import type { V1Volume } from '@kubernetes/client-node';
import type { Expert, ExpertPool, Weights } from '@agentfleet/protocol/api';
import { modelsClaim } from '../pools/names.ts';
import { shortHash } from '../revisions/index.ts';

/** Place of weights inside of containers: the same path in the job that reads them and in every engine. */
interface WeightsPlace {
  readonly volume: V1Volume;
  /** Path at which the volume is mounted. */
  readonly mountPath: string;
  /** Folder with the files. */
  readonly folder: string;
}

/** Weights that a pool asks for. */
export interface WeightsItem {
  /** As in status.artifacts: the expert, or `<expert>/draft`. */
  readonly name: string;
  readonly expert: string;
  /** Name that distinguishes the weights of one expert in one revision from those in another. */
  readonly owner: string;
  readonly weights: Weights;
  /** Hash of what is asked for: other weights, or other conditions on them, have another one. */
  readonly hash: string;
  readonly place: WeightsPlace;
  /** Whether they are fetched into the pool's volume. */
  readonly fetched: boolean;
}

const root = '/weights';

/** Name of the item of an expert's draft. */
export const draftOf = (expert: string): string => `${expert}/draft`;

const short = (value: unknown): string => shortHash(value, 16);

const inClaim = /^pvc:\/\/([^/]+)(\/.*)?$/;

/** Returns the name of the volume in which weights are stored, inside of pods. Pure. */
function volumeOf(uri: string): string {
  const [, claim] = inClaim.exec(uri) ?? [];
  if (claim !== undefined) return `claim-${short(claim)}`;
  return uri.startsWith('oci://') ? `image-${short(uri)}` : 'cache';
}

/** A claim is mounted whole: what is added to it later, such as an adapter, is there without another pod. */
function placeOf(pool: ExpertPool, uri: string): WeightsPlace {
  const name = volumeOf(uri);
  const [, claim, path = ''] = inClaim.exec(uri) ?? [];
  if (claim !== undefined) {
    const mountPath = `${root}/claims/${claim}`;
    const volume = { name, persistentVolumeClaim: { claimName: claim, readOnly: true } };
    return { volume, mountPath, folder: mountPath + path };
  }
  if (uri.startsWith('oci://')) {
    const mountPath = `${root}/images/${short(uri)}`;
    const volume = { name, image: { reference: uri.slice('oci://'.length), pullPolicy: 'IfNotPresent' } };
    return { volume, mountPath, folder: mountPath };
  }
  const mountPath = `${root}/cache`;
  const volume = { name, persistentVolumeClaim: { claimName: modelsClaim(pool.metadata.name) } };
  return { volume, mountPath, folder: `${mountPath}/${short(uri)}` };
}

function itemOf(pool: ExpertPool, { name: expert, artifact, speculative }: Expert, name: string, weights: Weights): WeightsItem {
  const { uri, digest = '' } = weights;
  const hash = short([uri, digest]);
  const owner = short([expert, artifact ?? null, speculative ?? null]);
  return { name, expert, owner, weights, hash, place: placeOf(pool, uri), fetched: /^(s3|hf):/.test(uri) };
}

/** All weights of some experts, each with its draft after it. Pure. */
export function weightsOf(pool: ExpertPool, experts: readonly Expert[] = pool.spec.experts): readonly WeightsItem[] {
  return experts.flatMap((expert) => [
    ...(expert.artifact === undefined ? [] : [itemOf(pool, expert, expert.name, expert.artifact)]),
    ...(expert.speculative === undefined ? [] : [itemOf(pool, expert, draftOf(expert.name), expert.speculative.draft)]),
  ]);
}

/** Returns the name in status.artifacts of weights of an expert, which may be one of another revision than the spec's. Pure. */
export function artifactName(pool: ExpertPool, expert: Expert, name: string): string {
  const item = weightsOf(pool, [expert]).find((known) => known.name === name);
  if (item === undefined) return name;
  return weightsOf(pool).some((own) => own.name === name && own.hash === item.hash) ? name : nameBeside(item);
}

/** The name in status.artifacts of weights that the spec does not ask for. */
export const nameBeside = ({ name, hash }: WeightsItem): string => `${name}@${hash}`;

/** Adapters that the engine of an expert loads. Pure. */
export function adaptersOn(experts: readonly Expert[], base: string): readonly Expert[] {
  return experts.filter(({ engine }) => engine.type === 'Adapter' && engine.adapter.base === base);
}

const rankOf = ({ engine }: Expert): number => (engine.type === 'Adapter' ? engine.adapter.rank : 0);

/** Adapters that an engine has room for. */
interface AdapterRoom {
  readonly count: number;
  readonly maxRank: number;
}

/**
 * Room for the adapters of an expert. Where revisions are tried each has room for itself twice, so that another one of it is
 * loaded beside it and the engine stays as it is. Undefined: it has none. Pure.
 */
export function adapterRoom({ spec }: Pick<ExpertPool, 'spec'>, base: string): AdapterRoom | undefined {
  const adapters = adaptersOn(spec.experts, base);
  if (adapters.length === 0) return undefined;
  const places = spec.rolloutPolicyRef === undefined ? 1 : 2;
  return { count: adapters.length * places, maxRank: Math.max(...adapters.map(rankOf)) };
}

/** Returns the facts about an engine's adapters that are in its template: their number, the greatest rank, and their volumes. Pure. */
export function roomOf(adapters: readonly Expert[]): object {
  const volumes = [...new Set(adapters.flatMap(({ artifact }) => (artifact === undefined ? [] : [volumeOf(artifact.uri)])))].sort();
  return { count: adapters.length, maxRank: Math.max(...adapters.map(rankOf)), volumes };
}
