import type { Obstacle } from './conditions.ts';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { gatewayName } from '../../pools/names.ts';
import { servingOf, withImage, type Serving } from '../../serving/index.ts';
import { gatewayRevision } from './gateways.ts';
import { gatewayReplicas } from './manifests/gateway.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** How far the gateway is that tasks without a revision are sent to. Pure. */
export function gatewayServing(snapshot: PoolSnapshot, obstacle?: Obstacle): Serving {
  const { pool, images, notes, deployments } = snapshot;
  const revision = gatewayRevision(snapshot);
  const own = snapshot.pods.filter(
    ({ metadata }) => metadata.labels?.[labels.component] === 'gateway' && metadata.labels[labels.revision] === revision,
  );
  const pods = own.filter(withImage(images.inference));
  const deployment = deployments.get(gatewayName(pool.metadata.name, revision));
  const serving = servingOf({ wanted: gatewayReplicas(pool), deployment, pods, notes, obstacle });
  return serving.fault === undefined ? serving : { ...serving, fault: withCure(pool, serving.fault) };
}

const missingObject = /(secret|configmap) "([^"]+)" not found|references non-existent (secret|config) key: (\S+)/;

/** The kubelet's words for a Secret or a key that is missing, with the cure before them. */
function withCure({ spec, metadata }: ExpertPool, fault: NonNullable<Serving['fault']>): NonNullable<Serving['fault']> {
  const found = missingObject.exec(fault.message);
  if (found === null) return fault;
  const [, kind, name, keyKind, key] = found;
  const secret = kind === 'secret' || keyKind === 'secret';
  if (!secret) {
    const what = name === undefined ? `the key ${key} of the ConfigMap` : `ConfigMap ${name}`;
    return {
      ...fault,
      reason: 'CaBundleMissing',
      message: `the gateway waits for ${what} that caBundleRef names; create it: ${fault.message}`,
    };
  }
  const entry = spec.credentials?.find(({ secretRef }) => secretRef.name === name || secretRef.key === key);
  const what = entry === undefined ? (name ?? key) : `${entry.secretRef.name} with the key ${entry.secretRef.key}`;
  const cure = `create Secret ${what} in namespace ${metadata.namespace}, or correct spec.credentials`;
  return { ...fault, reason: 'CredentialMissing', message: `the gateway waits for a key; ${cure}: ${fault.message}` };
}
