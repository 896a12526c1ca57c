import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { allRoles, useFleet } from '../fleet.ts';
import { coveringSet, fullMatrix, taskName } from './cells.ts';
import { play, type Played } from './play.ts';
import { matrixTable } from './table.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

/** The long run keeps the results of all cells. */
async function writeTable(what: string, played: readonly Played[]): Promise<void> {
  const day = new Date().toISOString().slice(0, 10);
  const folder = fileURLToPath(new URL('../../full/', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}kill-matrix-${what}-${day}.md`, matrixTable(day, played));
}

/** Registers the cells of the kill matrix whose victims are shared with other namespaces, which run alone, or the others. */
export function useMatrix(what: string, shared: boolean): void {
  const cells = (full ? fullMatrix : coveringSet).filter(({ victim }) => victim.shared === shared);
  const played: Played[] = [];
  const fleet = useFleet(`kill-${what}`, {
    alone: shared,
    pool: {
      experts: allRoles,
      energyModelRef: { name: 'verifier' },
      workers: { replicas: 1 },
    },
    before: async (bench) => {
      await bench.apply('EnergyModel', 'verifier', {
        artifact: { uri: 'builtin://features-v3' },
        thresholds: { whenUnavailable: 'Degrade' },
      });
      await bench.run('wait', '--for=condition=Ready', 'energymodel/verifier', '--timeout=90s');
    },
  });

  describe('a task ends as if nothing had died, although', () => {
    test.for(cells.map((cell) => [`${cell.victim.name} while ${cell.phase.name}`, cell] as const))('its %s', async ([, cell], { skip }) => {
      if (inject('fleet').provider !== 'local') skip('processes of the node are not ours to kill');
      const one = await play(fleet, cell);
      played.push(one);
      expect(one.faults, await fleet.explain(taskName(cell))).toEqual([]);
    });
  });

  afterAll(async () => {
    if (full && played.length > 0) await writeTable(what, played);
  });
}
