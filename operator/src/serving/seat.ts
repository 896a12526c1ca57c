import { passedOn, type Condition, type PlanStatus, type Reason } from '@agentfleet/protocol/api';
import {
  annotationOf,
  holderAnnotation,
  podPlacementOf,
  slotLabel,
  uuidAnnotation,
  withoutGpu,
  type PodPlacement,
  nodeOfSlot,
} from '../placement/index.ts';
import { engineContainer } from './vllm/index.ts';

/** State of the pods of an engine in a plan. */
export type Seat =
  | { readonly kind: 'NoGpu' }
  /** Its place, or its places in one order, as annotations have them; `admitted` when its turn to start has come. */
  | {
      readonly kind: 'Seated';
      readonly slot: string;
      readonly uuid: string | undefined;
      /** The pods that hold its GPUs. */
      readonly holder: string | undefined;
      readonly admitted: boolean;
      readonly pod: PodPlacement;
    }
  /** It wants a GPU and has none. `reason` is undefined before the first plan. */
  | {
      readonly kind: 'Unseated';
      readonly reason: Reason | undefined;
      readonly message: string;
      /** It has a place that is not there yet, and gives up the one that it had. */
      readonly moves?: true;
    };

/** The part of a status about placement. */
export interface PlannedStatus {
  readonly plan?: PlanStatus;
  readonly conditions?: readonly Condition[];
}

/** All of them as one annotation; undefined where one of them is not known. */
function reported(values: readonly (string | undefined)[]): string | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length < values.length ? undefined : annotationOf(known);
}

/** Needs of an engine that starts now: the number of GPUs that it spans, and the bytes that it takes on each of them. */
interface Wanted {
  readonly shards?: number;
  /** Infinity: it has no place, however much room there is. */
  readonly bytes?: number;
}

/** The place of an engine by the plan in force. Pure. */
export function seatOf(
  needsGpu: boolean,
  status: PlannedStatus | undefined,
  item: string,
  { shards = 1, bytes: wanted = 0 }: Wanted = {},
): Seat {
  if (!needsGpu) return { kind: 'NoGpu' };
  const { plan, conditions } = status ?? {};
  const found = plan?.assignments.filter((assignment) => assignment.item === item) ?? [];
  if (plan?.mode === undefined || found.length === 0) {
    const word = conditions?.find(({ type, status }) => type === 'PlacementFeasible' && status === 'False');
    return {
      kind: 'Unseated',
      reason: word === undefined ? undefined : passedOn(word.reason),
      message: word?.message ?? 'no GPU is assigned yet',
    };
  }
  // The plan is for another number of GPUs than the engine is started with now.
  if (found.length !== shards)
    return { kind: 'Unseated', reason: undefined, message: `it needs ${shards} GPUs, and the plan in force has ${found.length} for it` };
  // The plan refused it more, or has not decided about it yet: with more it would take from its neighbours.
  const small = found.find(({ bytes }) => bytes < wanted);
  if (small !== undefined)
    return { kind: 'Unseated', reason: undefined, message: `it needs ${wanted} bytes, and has ${small.bytes} on ${small.slot}` };
  // The board is known only when it is held.
  const open = plan.mode === 'Reservation' ? found.find(({ uuid }) => uuid === undefined) : undefined;
  if (open !== undefined) return { kind: 'Unseated', reason: undefined, message: `${open.slot} is not held yet`, moves: true };
  const places = found.map(({ slot, uuid, claim }) => ({
    name: slot,
    node: nodeOfSlot(slot),
    uuid,
    ...(claim === undefined ? {} : { claim }),
  }));
  return {
    kind: 'Seated',
    slot: annotationOf(found.map(({ slot }) => slot)),
    uuid: reported(found.map(({ uuid }) => uuid)),
    holder: reported(found.map(({ holder }) => holder)),
    admitted: found.every(({ admitted }) => admitted),
    pod: podPlacementOf(plan.mode, places),
  };
}

interface Container {
  readonly name?: string;
  readonly env?: readonly object[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
}

/** The parts of a Deployment's spec that change with the place; the others stay as they are. */
interface Placeable {
  readonly replicas?: number;
  readonly template: {
    readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly containers: readonly Container[];
      readonly initContainers?: readonly Container[];
      readonly nodeSelector?: Readonly<Record<string, string>>;
    };
  };
}

/** Lists that would be empty are left out: the API server drops them, which would look like a change. */
function placeContainer(container: Container, { env, claims, limits }: PodPlacement): object {
  return {
    ...container,
    env: [...(container.env ?? []), ...env],
    resources: {
      ...container.resources,
      ...(claims.length === 0 ? {} : { claims }),
      ...(Object.keys(limits).length === 0 ? {} : { limits: { ...container.resources?.limits, ...limits } }),
    },
  };
}

function placePod(spec: Placeable['template']['spec'], pod: PodPlacement): object {
  const { resourceClaims, runtimeClassName, nodeSelector, tolerations = [] } = pod;
  const [engine, ...others] = spec.containers;
  const beside = spec.initContainers?.some(({ name }) => name === engineContainer) === true;
  // If the runtime hands out GPUs by environment, an image with `all` would see every one of the node.
  const blind = (one: Container): object =>
    runtimeClassName === undefined ? one : { ...one, env: [...(one.env ?? []), ...withoutGpu.env] };
  const placed = beside
    ? {
        initContainers: spec.initContainers?.map((one) => (one.name === engineContainer ? placeContainer(one, pod) : blind(one))),
        containers: spec.containers.map(blind),
      }
    : { containers: engine === undefined ? [] : [placeContainer(engine, pod), ...others.map(blind)] };
  return {
    ...spec,
    ...(resourceClaims.length === 0 ? {} : { resourceClaims }),
    ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }),
    ...placed,
  };
}

/**
 * The spec of a Deployment whose pods sit where the plan puts them: the engine beside the server, or else the
 * server itself. A pod is deleted before the next one is made, as there is no memory for two; before its turn has come there is none, and the template is the
 * one that it will have. Nothing of the operator is in it, so that another version of it restarts nothing. Pure.
 */
export function seatDeployment(spec: object, seat: Seat): object {
  if (seat.kind === 'NoGpu') return spec;
  const { template, replicas = 1 } = spec as Placeable;
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  if (seat.kind === 'Unseated') return { ...spec, replicas: 0, strategy };
  const { slot, uuid, holder, admitted, pod } = seat;
  const annotations = {
    ...template.metadata?.annotations,
    [slotLabel]: slot,
    ...(uuid === undefined ? {} : { [uuidAnnotation]: uuid }),
    // A GPU that was let go may have another tenant: the one that sat on it restarts with the pod that holds it.
    ...(holder === undefined ? {} : { [holderAnnotation]: holder }),
  };
  const placed = { ...template, metadata: { ...template.metadata, annotations }, spec: placePod(template.spec, pod) };
  return { ...spec, replicas: admitted ? replicas : 0, strategy, template: placed };
}

/** Reports whether the pods of a Deployment were put on a GPU. */
export function wasSeated(
  template: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } } | undefined,
): boolean {
  return template?.metadata?.annotations?.[slotLabel] !== undefined;
}
