import { expect, it } from 'vitest';
import { newPool } from '../controllers/agenttask/testing/objects.ts';
import { decideModel } from '../controllers/energymodel/decide.ts';
import { newModelSnapshot } from '../controllers/energymodel/testing/models.ts';
import { poolWalls } from '../controllers/expertpool/manifests/walls.ts';
import { onGpu, gpuPool } from '../controllers/placement/testing/box.ts';

interface Rule {
  readonly from: readonly { readonly namespaceSelector?: { readonly matchLabels: object } }[];
  readonly ports: readonly { readonly port: number }[];
}
const rulesOf = (wall: object | undefined): readonly Rule[] =>
  (wall as { readonly spec: { readonly ingress: readonly Rule[] } }).spec.ingress;
const bare = gpuPool('coding', [onGpu('gen', 'Generalist', '5Gi')]);
const pool = { ...bare, spec: { ...newPool().spec, ...bare.spec } };
const monitoring = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };

it('lets the Prometheus of the one namespace in that is named, at experts, their engines and verifiers', () => {
  const [experts] = poolWalls(pool, 'agentfleet-system', 'monitoring');
  expect(rulesOf(experts?.object).at(-1)).toEqual({
    from: [monitoring],
    ports: [
      { protocol: 'TCP', port: 7080 },
      { protocol: 'TCP', port: 8000 },
    ],
  });
  const [verifiers] = decideModel(newModelSnapshot({}, { prometheusNamespace: 'monitoring' })).apply;
  expect(rulesOf(verifiers?.object).at(-1)).toEqual({ from: [monitoring], ports: [{ protocol: 'TCP', port: 7080 }] });
});

it('lets no one in when none is named', () => {
  const [experts] = poolWalls(pool, 'agentfleet-system');
  const [verifiers] = decideModel(newModelSnapshot()).apply;
  for (const wall of [experts, verifiers])
    for (const { from } of rulesOf(wall?.object))
      for (const peer of from) expect(peer).not.toEqual({ namespaceSelector: expect.anything() as object });
});
