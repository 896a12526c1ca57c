/** Rollouts: what serves, what is tried, and what the gates say of it. */
import { type ReactNode, useState } from 'react';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { FollowedShapes, TaskRow } from '../../../../src/base/wire.ts';
import { send } from '../../base/api.ts';
import type { Tone } from '../../base/fleet.ts';
import { useAct, useNow } from '../../base/hooks.ts';
import { useSession } from '../../base/place.ts';
import { useFleet } from '../../base/store.ts';
import { ago, percent } from '../../base/text.ts';
import { Badge, Confirm, Empty, Panel, Trouble } from '../../parts/bits.tsx';
import { Meter, WilsonBar } from '../../parts/charts.tsx';
import { plain } from '../../parts/output.tsx';

type Owner = ExpertPool | EnergyModel;
type Rollout = NonNullable<NonNullable<ExpertPool['status']>['rollout']>;
type Policy = FollowedShapes['RolloutPolicy'];

const tones: Readonly<Record<Rollout['phase'], Tone>> = {
  Idle: 'good',
  Loading: 'run',
  Shadowing: 'run',
  Canary: 'run',
  Promoting: 'run',
  RollingBack: 'bad',
  Frozen: 'bad',
};
const verdicts: Readonly<Record<string, Tone>> = { Pass: 'good', Fail: 'bad', Inconclusive: 'wait', NoData: 'idle' };

function Arm({
  name,
  revision,
  rows,
}: {
  readonly name: string;
  readonly revision: string | undefined;
  readonly rows: readonly TaskRow[];
}): ReactNode {
  const own = rows.filter((row) => row.revision !== undefined && row.revision === revision);
  const succeeded = own.filter(({ phase }) => phase === 'Succeeded').length;
  const judged = succeeded + own.filter(({ phase }) => phase === 'Failed').length;
  return (
    <div className="arm">
      <p>
        <strong>{name}</strong> <code>{revision ?? 'none'}</code>
      </p>
      <WilsonBar hits={succeeded} trials={judged} what={`${name} succeeded`} />
      <p className="muted small">
        {judged === 0 ? 'no ended task of it is in sight' : `${percent(succeeded / judged)} of ${judged} ended tasks in sight succeeded`}
      </p>
    </div>
  );
}

function Gates({ gates, policy }: { readonly gates: NonNullable<Rollout['gates']>; readonly policy: Policy | undefined }): ReactNode {
  const specs = new Map(policy?.spec.gates?.map((gate) => [gate.name, gate]));
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Table of gates">
      <table className="table unfolding">
        <thead>
          <tr>
            <th>Gate</th>
            <th>Verdict</th>
            <th className="right">Canary</th>
            <th className="right">Stable</th>
            <th>Bound</th>
            <th className="right">Samples</th>
          </tr>
        </thead>
        <tbody>
          {gates.map(({ name, verdict, value, baseline, samples, message }) => {
            const spec = specs.get(name);
            const bounds = [
              spec?.atLeast === undefined ? '' : `at least ${spec.atLeast}`,
              spec?.atMost === undefined ? '' : `at most ${spec.atMost}`,
            ];
            return (
              <tr key={name}>
                <td>
                  {name} <span className="muted">{spec?.metric}</span>
                  {message !== undefined && <p className="muted small">{plain(message)}</p>}
                </td>
                <td>
                  <span className={`kind ${verdicts[verdict] ?? 'idle'}`}>{verdict}</span>
                </td>
                <td className="right" data-label="Canary">
                  {value ?? '–'}
                </td>
                <td className="right" data-label="Stable">
                  {baseline ?? '–'}
                </td>
                <td data-label="Bound">{bounds.filter((bound) => bound !== '').join(', ')}</td>
                <td className="right" data-label="Samples">
                  {samples}
                  {spec?.minSamples !== undefined && <span className="muted"> of {spec.minSamples}</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Approve or reject the revision that is tried. */
function Decision({ owner, canary }: { readonly owner: Owner; readonly canary: string }): ReactNode {
  const [sure, setSure] = useState<'Approve' | 'Reject'>();
  const { busy, error, said, act } = useAct(() => undefined);
  const { namespace = '', name } = owner.metadata;
  const order = (type: 'Approve' | 'Reject'): void => {
    setSure(undefined);
    const path = `/api/rollouts/${owner.kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/orders`;
    act(() => send('POST', path, { type, revision: canary }), `${type === 'Approve' ? 'Approved' : 'Rejected'}; the operator takes it up.`);
  };
  return (
    <>
      {said === '' ? (
        <div className="buttons">
          <button type="button" className="primary" disabled={busy} onClick={() => setSure('Approve')}>
            Approve
          </button>
          <button type="button" className="danger" disabled={busy} onClick={() => setSure('Reject')}>
            Reject
          </button>
        </div>
      ) : (
        <p className="notice good">{said}</p>
      )}
      {error !== undefined && <Trouble what="That did not work:" error={error} />}
      {sure !== undefined && (
        <Confirm
          title={`${sure} revision ${canary} of ${name}?`}
          action={sure}
          danger={sure === 'Reject'}
          onNo={() => setSure(undefined)}
          onYes={() => order(sure)}
        >
          {sure === 'Approve' ? 'All tasks go to it once its gates pass.' : 'All tasks go back to the stable revision.'}
        </Confirm>
      )}
    </>
  );
}

function RolloutView({
  owner,
  rollout,
  policy,
  rows,
  now,
}: {
  readonly owner: Owner;
  readonly rollout: Rollout;
  readonly policy: Policy | undefined;
  readonly rows: readonly TaskRow[];
  readonly now: number;
}): ReactNode {
  const { readOnly } = useSession();
  const { phase, stable, canary, weight, step, since, samples, gates = [], failures = {} } = rollout;
  const message = owner.status?.conditions?.find(({ type }) => type === 'RolloutHealthy')?.message ?? '';
  const failed = Object.entries(failures);
  const steps = policy?.spec.steps ?? [];
  return (
    <Panel
      title={`${owner.kind} ${owner.metadata.namespace ?? ''}/${owner.metadata.name}`}
      aside={<Badge tone={tones[phase]}>{phase}</Badge>}
    >
      <p>{plain(message)}</p>
      <p className="muted small">
        since {ago(Date.parse(since), now)}
        {steps.length > 0 && phase === 'Canary' && `, step ${step + 1} of ${steps.length}`}, {samples} judged tasks of the canary
      </p>
      <div className="weights">
        <span className="muted small">Canary gets {weight} % of new tasks</span>
        <Meter value={weight / 100} label={`${weight} % of new tasks go to the canary`} />
      </div>
      <div className="arms">
        <Arm name="Stable" revision={stable} rows={rows} />
        <Arm name="Canary" revision={canary} rows={rows} />
      </div>
      {gates.length > 0 && <Gates gates={gates} policy={policy} />}
      {failed.length > 0 && (
        <p className="muted small">Failed before: {failed.map(([revision, count]) => `${revision} ×${count}`).join(', ')}</p>
      )}
      {!readOnly && canary !== undefined && policy?.spec.promotion?.requireApproval === true && <Decision owner={owner} canary={canary} />}
    </Panel>
  );
}

export function RolloutsScreen(): ReactNode {
  const { objects } = useFleet();
  const now = useNow();
  const rows = [...objects.AgentTask.values()];
  const owners: readonly Owner[] = [...objects.ExpertPool.values(), ...objects.EnergyModel.values()];
  const active = owners.flatMap((owner) => (owner.status?.rollout === undefined ? [] : [{ owner, rollout: owner.status.rollout }]));
  return (
    <div className="stacked">
      <h1>Rollouts</h1>
      {active.length === 0 && (
        <Empty title="No rollouts">A pool or a model with a rolloutPolicyRef tries new revisions on a share of the tasks first.</Empty>
      )}
      {active.map(({ owner, rollout }) => {
        const policy = objects.RolloutPolicy.get(`${owner.metadata.namespace ?? ''}/${owner.spec.rolloutPolicyRef?.name ?? ''}`);
        return (
          <RolloutView
            key={`${owner.kind} ${owner.metadata.namespace ?? ''}/${owner.metadata.name}`}
            owner={owner}
            rollout={rollout}
            policy={policy}
            rows={rows}
            now={now}
          />
        );
      })}
    </div>
  );
}
