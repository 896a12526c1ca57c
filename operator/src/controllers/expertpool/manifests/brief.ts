import type { ExpertPool } from '@agentfleet/protocol/api';
import { artifactsDir, briefKey, credentialsDir, expertPort, type ArtifactPlace, type PoolBrief } from '@agentfleet/protocol/pool';
import { artifactsClaim, briefName, expertName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { homeOf, owned, type Manifest } from './manifest.ts';

function place(pool: ExpertPool): ArtifactPlace {
  const { storage } = pool.spec;
  if (storage === undefined) return { type: 'Volume', path: artifactsDir, claim: artifactsClaim(pool.metadata.name) };
  const { uri, endpoint, region, forcePathStyle, credential } = storage;
  const file = credential === undefined ? {} : { credentialFile: `${credentialsDir}/${credential}` };
  return { type: 'S3', uri, endpoint, region, forcePathStyle, ...file };
}

/** What the workers of a pool need to know, about these namespaces. Pure: equal inputs give equal bytes. */
export function poolBrief(pool: ExpertPool, namespaces: readonly string[]): PoolBrief {
  const { name } = pool.metadata;
  const { minIsolation, allowUnenforcedNetwork, maxBudget } = pool.spec.policy;
  return {
    format: 'agentfleet.dev/pool/v1',
    pool: { name, namespace: homeOf(pool) },
    namespaces: [...namespaces].sort(),
    // An expert without pods would only cost its callers a time limit.
    experts: pool.spec.experts
      .filter(({ replicas }) => replicas > 0)
      .map((expert) => ({
        name: expert.name,
        role: expert.role,
        engine: expert.engine.type,
        domains: [...expert.domains],
        url: `http://${expertName(name, expert.name)}.${homeOf(pool)}.svc:${expertPort}`,
      })),
    verifier: null,
    profiles: { default: { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 } },
    egress: { registries: [], environment: {} },
    credentials: (pool.spec.credentials ?? []).map(({ name: id, hosts }) => ({
      name: id,
      hosts: [...hosts],
      file: `${credentialsDir}/${id}`,
    })),
    storage: place(pool),
    minIsolation,
    allowUnenforcedNetwork,
    maxBudget: { ...maxBudget },
  };
}

/** The ConfigMap with the brief. Pure. */
export function briefConfigMap(pool: ExpertPool, namespaces: readonly string[]): Manifest {
  const text = `${JSON.stringify(poolBrief(pool, namespaces), undefined, 2)}\n`;
  return owned(pool, resources.configMaps, { name: briefName(pool.metadata.name), component: 'worker' }, { data: { [briefKey]: text } });
}
