/** Verifiers: whether their probabilities come true, what they veto, and whether a new one differs. */
import { type ReactNode, useMemo } from 'react';
import type { EnergyModel } from '@agentfleet/protocol/api';
import type { TaskRow } from '../../../../src/base/wire.ts';
import { useFleet } from '../../base/store.ts';
import { percent } from '../../base/text.ts';
import { Badge, Empty, Panel } from '../../parts/bits.tsx';
import { Bars, type Point, Reliability } from '../../parts/charts.tsx';

/** Ended tasks by tenths of the probability that was said last. */
export function reliabilityOf(rows: readonly TaskRow[]): readonly Point[] {
  const bins = Array.from({ length: 10 }, () => ({ sum: 0, hits: 0, trials: 0 }));
  for (const { phase, pSuccess } of rows) {
    if (pSuccess === undefined || (phase !== 'Succeeded' && phase !== 'Failed')) continue;
    const bin = bins[Math.min(9, Math.floor(pSuccess * 10))]!;
    bin.sum += pSuccess;
    bin.trials += 1;
    if (phase === 'Succeeded') bin.hits += 1;
  }
  return bins.filter(({ trials }) => trials > 0).map(({ sum, hits, trials }) => ({ said: sum / trials, hits, trials }));
}

interface Histogram {
  readonly from: number;
  readonly to: number;
  readonly good: readonly number[];
  readonly bad: readonly number[];
}

/** Energies of ended tasks, of those that succeeded and of those that failed. */
export function energiesOf(rows: readonly TaskRow[], bins = 12): Histogram | undefined {
  const ended = rows.flatMap(({ phase, energy }) =>
    energy === undefined || (phase !== 'Succeeded' && phase !== 'Failed') ? [] : [{ phase, energy }],
  );
  if (ended.length === 0) return undefined;
  const all = ended.map(({ energy }) => energy);
  const [from, to] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const count = (wanted: string): readonly number[] => {
    const counts = Array.from({ length: bins }, () => 0);
    for (const { phase, energy } of ended)
      if (phase === wanted) counts[Math.min(bins - 1, Math.floor(((energy - from) / (to - from || 1)) * bins))]! += 1;
    return counts;
  };
  return { from, to, good: count('Succeeded'), bad: count('Failed') };
}

const summed = (rows: readonly TaskRow[], of: (row: TaskRow) => readonly number[] | undefined): readonly number[] =>
  rows.reduce<readonly number[]>((sum, row) => {
    const bins = of(row);
    return bins === undefined ? sum : bins.map((count, at) => count + (sum[at] ?? 0));
  }, []);

function Model({ model: { metadata, spec, status } }: { readonly model: EnergyModel }): ReactNode {
  const { calibration, arms: [stable] = [], conditions = [], ready = 0 } = status ?? {};
  const state = conditions.find(({ type }) => type === 'Ready');
  return (
    <Panel
      title={`${metadata.namespace ?? ''}/${metadata.name}`}
      aside={<Badge tone={state?.status === 'True' ? 'good' : 'wait'}>{state?.reason ?? 'Pending'}</Badge>}
    >
      <p className="muted small">
        {ready} of {spec.resources.replicas} pods answer
        {stable !== undefined &&
          `; vetoes below ${stable.thresholdsInForce.vetoBelowProbability}, warns below ${stable.thresholdsInForce.warnBelowProbability}`}
      </p>
      {calibration?.heads === undefined ? (
        <p className="muted">It reports no calibration: it gives energies, no probabilities.</p>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Table of heads">
          <table className="table">
            <thead>
              <tr>
                <th>Head</th>
                <th className="right">AUC</th>
                <th className="right">ECE</th>
                <th>Asked for</th>
              </tr>
            </thead>
            <tbody>
              {calibration.heads.map(({ name, auc, ece }) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td className="right">{auc}</td>
                  <td className="right">{ece}</td>
                  <td className="muted">
                    {spec.gates?.auc !== undefined && `AUC at least ${spec.gates.auc} `}
                    {spec.gates?.ece !== undefined && `ECE at most ${spec.gates.ece}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Vetoes({ rows }: { readonly rows: readonly TaskRow[] }): ReactNode {
  const pools = [...Map.groupBy(rows, ({ pool }) => pool ?? 'default pool')].map(([pool, own]) => ({
    pool,
    vetoes: own.reduce((sum, row) => sum + row.vetoes, 0),
    candidates: own.reduce((sum, row) => sum + row.candidates, 0),
  }));
  return (
    <Panel title="Vetoes">
      <table className="table">
        <thead>
          <tr>
            <th>Pool</th>
            <th className="right">Judged</th>
            <th className="right">Vetoed</th>
            <th className="right">Rate</th>
          </tr>
        </thead>
        <tbody>
          {pools.map(({ pool, vetoes, candidates }) => (
            <tr key={pool}>
              <td>{pool}</td>
              <td className="right">{candidates}</td>
              <td className="right">{vetoes}</td>
              <td className="right">{candidates === 0 ? '–' : percent(vetoes / candidates)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Charts({ rows }: { readonly rows: readonly TaskRow[] }): ReactNode {
  const points = useMemo(() => reliabilityOf(rows), [rows]);
  const histogram = useMemo(() => energiesOf(rows), [rows]);
  const [stable, shadow] = useMemo(() => [summed(rows, (row) => row.stableBins), summed(rows, (row) => row.shadowBins)], [rows]);
  const judged = points.reduce((sum, { trials }) => sum + trials, 0);
  return (
    <div className="grid-two">
      <Panel title="Does it come true" aside={<span className="muted small">{judged} ended tasks</span>}>
        {points.length === 0 ? (
          <Empty title="No probabilities yet" />
        ) : (
          <Reliability
            points={points}
            label={`Probability said against share that succeeded: ${points.map(({ said, hits, trials }) => `${percent(said)} said, ${hits} of ${trials}`).join('; ')}`}
          />
        )}
      </Panel>
      <div>
        <Panel title="Energies of ended tasks" aside={<span className="muted small">lower is better</span>}>
          {histogram === undefined ? (
            <Empty title="No energies yet" />
          ) : (
            <>
              <Bars
                counts={histogram.good}
                over={histogram.bad}
                label={`Energies from ${histogram.from} to ${histogram.to}: succeeded ${histogram.good.join(', ')}; failed ${histogram.bad.join(', ')}`}
              />
              <p className="legend">
                <span>{histogram.from}</span>
                <span>
                  <span className="swatch one" aria-hidden="true" /> succeeded
                </span>
                <span>
                  <span className="swatch two" aria-hidden="true" /> failed
                </span>
                <span>{histogram.to}</span>
              </p>
            </>
          )}
        </Panel>
        <Panel title="Drift: stable against the one in shadow">
          {shadow.length === 0 ? (
            <p className="muted">No model is in shadow.</p>
          ) : (
            <>
              <Bars
                counts={stable}
                over={shadow}
                label={`Acts by probability, stable: ${stable.join(', ')}; shadow: ${shadow.join(', ')}`}
              />
              <p className="legend">
                <span>
                  <span className="swatch one" aria-hidden="true" /> stable
                </span>
                <span>
                  <span className="swatch two" aria-hidden="true" /> shadow
                </span>
              </p>
            </>
          )}
        </Panel>
        <Vetoes rows={rows} />
      </div>
    </div>
  );
}

export function EnergyScreen(): ReactNode {
  const { objects } = useFleet();
  const rows = useMemo(() => [...objects.AgentTask.values()], [objects.AgentTask]);
  const models = [...objects.EnergyModel.values()];
  return (
    <div className="stacked">
      <h1>Energy</h1>
      <Charts rows={rows} />
      {models.length === 0 && <Empty title="No EnergyModels to see">A pool without one is judged by its policy alone.</Empty>}
      {models.map((model) => (
        <Model key={`${model.metadata.namespace ?? ''}/${model.metadata.name}`} model={model} />
      ))}
    </div>
  );
}
