import type { ReactNode } from 'react';
import type { Summary as Sums } from '../../base/fleet.ts';
import { binned, money, percent, short, span, wilson } from '../../base/text.ts';
import { Bars, Meter, WilsonBar } from '../../parts/charts.tsx';

const hours = 24;

function Card({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Queue({ summary: { queued, oldestQueued }, now }: { readonly summary: Sums; readonly now: number }): ReactNode {
  return (
    <p className="muted small">{queued === 0 ? 'nobody waits' : `${queued} queued, the oldest for ${span(now - (oldestQueued ?? now))}`}</p>
  );
}

/** Shows the state of the fleet in five numbers. */
export function Summary({ summary, now }: { readonly summary: Sums; readonly now: number }): ReactNode {
  const { byPhase, succeeded, judged, endedAt, tokens, cost, burning } = summary;
  const active = ['Preparing', 'Running', 'Verifying', 'RollingBack'].reduce((sum, phase) => sum + (byPhase.get(phase) ?? 0), 0);
  const hour = 3_600_000;
  const ends = binned(endedAt, now - hours * hour, now, hours);
  const day = ends.reduce((a, b) => a + b, 0);
  const [low, high] = wilson(succeeded, judged);
  const burn = burning.budget === 0 ? 0 : burning.tokens / burning.budget;
  return (
    <div className="cards">
      <Card title="At work">
        <p className="figure">{active}</p>
        <Queue summary={summary} now={now} />
      </Card>
      <Card title="Succeeded">
        <p className="figure">{judged === 0 ? '–' : percent(succeeded / judged)}</p>
        <WilsonBar hits={succeeded} trials={judged} what="Succeeded" />
        <p className="muted small">
          {judged === 0 ? 'nothing has ended yet' : `${succeeded} of ${judged}, 95 %: ${percent(low)} to ${percent(high)}`}
        </p>
      </Card>
      <Card title={`Ended in ${hours} h`}>
        <p className="figure">{day}</p>
        <Bars counts={ends} label={`Tasks ended in each of the last ${hours} hours: ${ends.join(', ')}`} />
      </Card>
      <Card title="Spent">
        <p className="figure">{cost === 0 ? short(tokens) : money(cost)}</p>
        <p className="muted small">{cost === 0 ? 'tokens, no prices known' : `${short(tokens)} tokens`}</p>
      </Card>
      <Card title="Budget of what runs">
        <p className="figure">{burning.budget === 0 ? '–' : percent(burn)}</p>
        <Meter
          value={burn}
          tone={burn > 0.9 ? 'bad' : burn > 0.7 ? 'wait' : 'run'}
          label={`Tokens of running tasks: ${percent(burn)} of their budgets`}
        />
        <p className="muted small">
          {short(burning.tokens)} of {short(burning.budget)} tokens
          {burning.costBudget > 0 && `, ${money(burning.cost)} of ${money(burning.costBudget)}`}
        </p>
      </Card>
    </div>
  );
}
