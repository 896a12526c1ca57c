import type { Obstacle } from './conditions.ts';
import { isApiError, type ApiError, type KubeObject } from '@agentfleet/kube';
import { type Deployment, resources } from '../../runtime/resources.ts';
import type { ChildWriter } from './children.ts';
import type { PoolDecision } from './decide.ts';
import type { Manifest } from '../../operands/manifest.ts';

/** What became of a decision. */
export interface Execution {
  /** Deployments as the server has them after the writes, by name: newer than what the cache shows. */
  readonly deployments: ReadonlyMap<string, Deployment>;
  /** The first answer of the server that says no; what was decided after it has not been tried. */
  readonly refusal: { readonly error: ApiError; readonly obstacle: Obstacle } | undefined;
}

function refused({ resource, object }: Manifest, error: ApiError): Obstacle {
  const { name, namespace } = object.metadata;
  return { reason: 'WriteRefused', message: `${resource.kind} ${namespace}/${name} was refused: ${error.message}` };
}

/**
 * Writes children in their order, then removes what is too much. An answer that will stay the same is a result, because
 * the status has to say it; anything else rejects, and the controller tries again.
 */
export async function executePool({ apply, remove }: PoolDecision, writer: ChildWriter, signal: AbortSignal): Promise<Execution> {
  const deployments = new Map<string, Deployment>();
  for (const manifest of apply) {
    try {
      const object: KubeObject | undefined = await writer.apply(manifest, signal);
      if (object !== undefined && manifest.resource === resources.deployments) deployments.set(object.metadata.name, object);
    } catch (error) {
      if (!isApiError(error) || error.retryable) throw error;
      return { deployments, refusal: { error, obstacle: refused(manifest, error) } };
    }
  }
  for (const child of remove) await writer.remove(child, signal);
  return { deployments, refusal: undefined };
}
