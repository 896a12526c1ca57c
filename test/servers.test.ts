// The operator's settings for its inference servers are valid for them: environment, roles and artifacts.
import type { ExpertPool } from '@agentfleet/protocol/api';
import { keysFile } from '@agentfleet/protocol/tokens';
import { describe, expect, it } from 'vitest';
import { readConfig, type Config, artifacts } from '../inference-image/src/base/config.ts';
import { newPool } from '../operator/src/controllers/agenttask/testing/objects.ts';
import { knownArtifacts, verifierDeployment } from '../operator/src/controllers/energymodel/manifests.ts';
import { newModel } from '../operator/src/controllers/energymodel/testing/models.ts';
import { expertDeployment } from '../operator/src/controllers/expertpool/manifests/experts.ts';
import { guardedExperts } from '../operator/src/controllers/expertpool/manifests/access.ts';
import { testAccess } from '../operator/src/serving/testing/access.ts';
import type { Manifest } from '../operator/src/operands/manifest.ts';

/** Returns the server's configuration from the environment of the only container of a Deployment. */
function configOf({ object }: Manifest): Config {
  const { spec } = object as unknown as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly { readonly env: readonly Variable[] }[] } } };
  };
  return readConfig(Object.fromEntries(spec.template.spec.containers[0]!.env.map(({ name, value }) => [name, value])));
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

function withUid<T extends { readonly metadata: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, uid: 'uid' } };
}

describe('an inference server accepts the settings of the operator', () => {
  const replay = { type: 'Replay', replay: { configMap: { name: 'tape' } } };
  const llama = { type: 'Llama', llama: { threads: 2, contextTokens: 1024 } };

  it.each([
    ['Generalist', { type: 'Synth' }],
    ['Specialist', replay],
    ['Draft', llama],
    ['Generalist', llama],
    ['Planner', { type: 'Builtin' }],
    ['Embedder', { type: 'Builtin' }],
    ['Policy', { type: 'Builtin' }],
  ])('for the role %s with %j', (role, engine) => {
    const experts = [
      { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } },
      { name: 'it', role, engine },
    ];
    const pool: ExpertPool = withUid(newPool({ experts }));
    const expert = pool.spec.experts.find(({ name }) => name === 'it')!;
    const config = configOf(guardedExperts(pool, testAccess, expertDeployment({ pool, expert, image: 'i:1', replayHash: 'h' })));
    expect(config.roles).toEqual([role]);
    const namespace = 'system:serviceaccount:platform';
    expect(config.access).toEqual({
      issuer: testAccess.issuer,
      jwksFile: keysFile,
      callers: {
        audience: 'agentfleet-experts:platform',
        subjects: [`${namespace}:coding-worker`, `${namespace}:coding-golden`, testAccess.operator],
      },
      metricsReaders: testAccess.metricsReaders,
    });
    expect(config.engine.type).toBe(engine.type);
    if (config.engine.type === 'Llama') expect(config.engine).toMatchObject(llama.llama);
  });

  it('for an EnergyModel, with its artifact and weights', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const heads = [{ name: 'Shell', lambda: '2.0' }];
    const model = withUid(newModel({ artifact: { uri: 'builtin://features-v1', digest }, lambda: '0.5', heads }));
    const { engine, roles, access } = configOf(verifierDeployment(model, 'i:1', testAccess));
    expect(access?.callers?.subjects).toEqual(['system:serviceaccount:platform:*', testAccess.operator]);
    expect(roles).toEqual(['Verifier']);
    const weighting = { lambda: 0.5, heads: { Code: 0.7, Shell: 2, Editor: 0.6 } };
    expect(engine).toMatchObject({ type: 'Builtin', role: 'Verifier', artifact: 'features-v1', digest, weighting });
  });

  it('for every artifact that the operator knows', () => {
    expect(knownArtifacts).toEqual(artifacts.Verifier);
  });
});
