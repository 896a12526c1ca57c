import { createHash } from 'node:crypto';
import type { V1Volume } from '@kubernetes/client-node';
import { expertPort } from '@agentfleet/protocol/pool';
import { podPlacementOf, type PodPlacement } from '../placement/index.ts';
import { sumAmounts } from './amounts.ts';
import { serverDeployment, type ServerPods, type ServerWall } from './server.ts';

/** On pods that run several engines: what finds them. */
export const monopodLabel = 'agentfleet.dev/monopod';
/** Annotation of the template of such a pod: who is in it, on which slot and at which port. */
export const enginesAnnotation = 'agentfleet.dev/engines';

/** The port of the first engine; that of the supervisor is the one that all servers have. */
const firstPort = expertPort + 1;

/** An engine of a pod that runs several. */
export interface MonopodEngine {
  readonly name: string;
  readonly slot: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly resources: ServerPods['resources'];
  readonly fallback: ServerPods['fallback'];
  readonly mounted?: ServerPods['mounted'];
}

/** Where an engine of such a pod is. */
export interface EnginePlace {
  readonly slot: string;
  readonly port: number;
}

/** Slots in the order of their names, as numbers count. */
const bySlot = (a: string, b: string): number => (a.length === b.length ? (a < b ? -1 : 1) : a.length - b.length);

/** The places of engines; ports are in the order of names. Pure. */
export function enginePlaces(engines: readonly { readonly name: string; readonly slot: string }[]): ReadonlyMap<string, EnginePlace> {
  const sorted = [...engines].sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Map(sorted.map(({ name, slot }, index) => [name, { slot, port: firstPort + index }]));
}

interface Marked {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

/** The places of engines as the template of a pod tells them; empty for any other pod. Pure. */
export function enginesIn({ metadata }: Marked = {}): ReadonlyMap<string, EnginePlace> {
  const words = (metadata?.annotations?.[enginesAnnotation] ?? '').split(' ').filter(Boolean);
  return new Map(
    words.map((word) => {
      const [, name = '', slot = '', port = ''] = /^([^=]+)=(.+):(\d+)$/.exec(word) ?? [];
      return [name, { slot, port: Number(port) }];
    }),
  );
}

/** What the port of an engine is called in its pod: a Service that names it means this engine in each pod, whatever its number. Pure. */
export function enginePortName(name: string): string {
  return `e-${createHash('sha256').update(name).digest('hex').slice(0, 10)}`;
}

export interface Monopod extends Pick<ServerPods, 'labels' | 'annotations' | 'image' | 'replicas'> {
  readonly node: string;
  /** In the order in which those of one GPU start. */
  readonly engines: readonly MonopodEngine[];
}

/** The parts of a server's Deployment that are others where several engines share its pod. */
interface ServerContainer {
  readonly env?: readonly object[];
  readonly ports?: readonly object[];
  readonly livenessProbe?: object;
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
}

interface ServerSpec {
  readonly template: { readonly spec?: { readonly containers: readonly ServerContainer[] } };
}

interface Placed {
  readonly engine: MonopodEngine;
  readonly place: EnginePlace;
}

/** Folders of the engines, each under a name of its own. */
function mountsOf(placed: readonly Placed[]): { readonly volumes: readonly V1Volume[]; readonly mounts: readonly object[] } {
  const own = placed.flatMap(({ engine: { mounted }, place }) => {
    if (mounted === undefined) return [];
    const name = `${mounted.volume.name}-${place.port}`;
    const volume: V1Volume = { ...(mounted.volume as object), name };
    return [{ volume, mount: { name, mountPath: mounted.path, readOnly: true } }];
  });
  return { volumes: own.map(({ volume }) => volume), mounts: own.map(({ mount }) => mount) };
}

/** What the supervisor is told. Numbers of GPUs are in the order of slots. */
function superviseOf(placed: readonly Placed[], slots: readonly string[]): string {
  const told = placed.map(({ engine: { name, slot, environment }, place: { port } }) => {
    return { name, port, environment, gpus: [slots.indexOf(slot)] };
  });
  return JSON.stringify(told);
}

function supervisorContainer(server: ServerContainer, { env, limits }: PodPlacement, placed: readonly Placed[]): object {
  const { mounts } = mountsOf(placed);
  return {
    ...server,
    args: ['supervise'],
    env: [...(server.env ?? []), ...env],
    ports: [...(server.ports ?? []), ...placed.map(({ engine, place }) => portOf(engine.name, place.port))],
    livenessProbe: { ...server.livenessProbe, httpGet: { path: '/livez', port: 'http' } },
    resources: { ...server.resources, limits: { ...server.resources?.limits, ...limits } },
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/**
 * The Deployment of one pod that has GPUs of the device plugin for several engines, as two containers cannot share one: a
 * supervisor starts the server of each and lets it see the GPU of its slot alone. Nothing of the operator is in it. Pure.
 */
export function monopodDeployment({ labels, annotations, image, replicas, node, engines }: Monopod): object {
  const places = enginePlaces(engines);
  const slots = [...new Set(engines.map(({ slot }) => slot))].sort(bySlot);
  const placed = engines.flatMap((engine): readonly Placed[] => {
    const place = places.get(engine.name);
    return place === undefined ? [] : [{ engine, place }];
  });
  const words = [...places].map(([name, { slot, port }]) => `${name}=${slot}:${port}`);
  const base: ServerSpec = serverDeployment({
    labels,
    annotations: { ...annotations, [enginesAnnotation]: words.join(' ') },
    image,
    replicas,
    environment: { AGENTFLEET_SUPERVISE: superviseOf(placed, slots) },
    resources: undefined,
    fallback: sumAmounts(engines),
  });
  const pod = podPlacementOf(
    'Monopod',
    slots.map((name) => ({ name, node, uuid: undefined })),
  );
  const { nodeSelector } = pod;
  const { volumes } = mountsOf(placed);
  const containers = (base.template.spec?.containers ?? []).map((server) => supervisorContainer(server, pod, placed));
  const spec = { ...base.template.spec, nodeSelector, containers, ...(volumes.length === 0 ? {} : { volumes }) };
  return { ...base, strategy: { type: 'Recreate' }, template: { ...base.template, spec } };
}

function portOf(name: string, containerPort: number) {
  return { name: enginePortName(name), containerPort, protocol: 'TCP' };
}

/**
 * The Service of one engine of such a pod. The pod is ready when all its engines are; an engine is asked also while another
 * one starts again. Pure.
 */
export function engineService(selector: Readonly<Record<string, string>>, name: string): object {
  const ports = [{ name: 'http', port: expertPort, protocol: 'TCP', targetPort: enginePortName(name) }];
  return { type: 'ClusterIP', selector: { ...selector }, ports, publishNotReadyAddresses: true };
}

/** A wall whose pods are heard at the ports of their engines too. Pure. */
export function heardAtEngines(wall: ServerWall, places: ReadonlyMap<string, EnginePlace>): ServerWall {
  const more = [...places.values()].map(({ port }) => ({ protocol: 'TCP', port }));
  const ingress = wall.ingress.map((rule) => ({ ...rule, ports: [...(rule as { readonly ports: readonly object[] }).ports, ...more] }));
  return more.length === 0 ? wall : { ...wall, ingress };
}
