import type { ExpertPool, Reason } from '@agentfleet/protocol/api';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';
import type { Refusal } from './acceptance.ts';
import { handlerOffered, hasOwnUsers, runtimeClassOf, userMode, userNamespaces, type Wish } from './nodeAbility.ts';
import { mergedTemplate } from './sandboxBounds.ts';
import type { Snapshot } from './snapshot.ts';

/** Reasons that may go when a node or a RuntimeClass changes. */
export const unsupportedReasons: ReadonlySet<string> = new Set([
  'RuntimeClassNotFound',
  'RuntimeHandlerMissing',
  'UserNamespacesUnavailable',
  'LayersNotPossible',
]);

const refused = (reason: Reason, message: string): Refusal => ({ reason, message, stalled: true });

/**
 * Why no node can hold the sandbox behind the wall that is asked for; undefined when one can, or none tells. Without this
 * the pod would be refused, or stay in ContainerCreating for ever without a word in its status. Pure.
 */
export function unsupported({ task, capabilities }: Snapshot, pool: ExpertPool, floor: IsolationLevel): Refusal | undefined {
  const wish: Wish = mergedTemplate(task, pool);
  return (
    runtimeMissing(capabilities, wish, pool) ??
    layersRefused(capabilities, wish, pool, task.metadata.namespace ?? '') ??
    usersMissing(capabilities, wish, pool, floor)
  );
}

const named = ({ metadata }: ExpertPool): string => `${metadata.namespace ?? ''}/${metadata.name}`;

function runtimeMissing(capabilities: Snapshot['capabilities'], wish: Wish, pool: ExpertPool): Refusal | undefined {
  const runtimeClass = runtimeClassOf(capabilities, wish);
  if (runtimeClass === undefined) return undefined;
  const name = wish.runtimeClassName ?? '';
  if (runtimeClass === null) {
    const message = `there is no RuntimeClass ${name}; create it, or name another one in spec.sandbox.runtimeClassName or in the template of ExpertPool ${named(pool)}`;
    return refused('RuntimeClassNotFound', message);
  }
  if (handlerOffered(capabilities, wish, runtimeClass.handler) !== 'None') return undefined;
  const message = `RuntimeClass ${name} has the handler ${runtimeClass.handler}, which the container runtime of no node has that the sandbox may run on; install it there, or select other nodes`;
  return refused('RuntimeHandlerMissing', message);
}

/** What lets a pod with layers in: no level, or the one that refuses nothing. */
const enforce = 'pod-security.kubernetes.io/enforce';

/** The engine of layers is asked for where it cannot work. */
function layersRefused(capabilities: Snapshot['capabilities'], wish: Wish, pool: ExpertPool, namespace: string): Refusal | undefined {
  if (pool.spec.sandbox.snapshotEngine !== 'Overlay') return undefined;
  const setting = `spec.sandbox.snapshotEngine of ExpertPool ${named(pool)} is Overlay`;
  if (wish.runtimeClassName !== undefined) {
    const message = `${setting}, which mounts on the node's own kernel, and the sandbox has RuntimeClass ${wish.runtimeClassName}; set the engine to Auto, or leave runtimeClassName out`;
    return refused('LayersNotPossible', message);
  }
  const level = capabilities.namespaces?.get(namespace)?.[enforce];
  if (level === undefined || level === 'privileged') return undefined;
  const message = `${setting}, whose sandboxes need a capability in a user namespace, and namespace ${namespace} enforces Pod Security ${level}; set its label ${enforce} to privileged, or the engine to Auto`;
  return refused('LayersNotPossible', message);
}

function usersMissing(capabilities: Snapshot['capabilities'], wish: Wish, pool: ExpertPool, floor: IsolationLevel): Refusal | undefined {
  const mode = userMode(pool.spec.sandbox);
  if (!hasOwnUsers(mode, floor, capabilities, wish)) {
    if (floor !== 'UserNamespace' || wish.runtimeClassName !== undefined) return undefined;
    const message = `isolation UserNamespace is demanded and spec.sandbox.userNamespace of ExpertPool ${named(pool)} is Never; set it to Auto, or lower minIsolation`;
    return refused('IsolationBelowFloor', message);
  }
  if (userNamespaces(capabilities, wish) !== 'None') return undefined;
  const runtime = wish.runtimeClassName === undefined ? 'the default runtime' : `RuntimeClass ${wish.runtimeClassName}`;
  const why =
    pool.spec.sandbox.snapshotEngine === 'Overlay'
      ? `spec.sandbox.snapshotEngine of ExpertPool ${named(pool)} is Overlay`
      : mode === 'Always'
        ? `spec.sandbox.userNamespace of ExpertPool ${named(pool)} is Always`
        : 'isolation UserNamespace is demanded';
  const message = `${why}, and ${runtime} has user namespaces on no node that the sandbox may run on; offer nodes that have them (kernel 6.3, containerd 2.0 or CRI-O 1.25), or ask for less`;
  return refused('UserNamespacesUnavailable', message);
}
