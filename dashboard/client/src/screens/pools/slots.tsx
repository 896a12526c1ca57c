/** GPUs: who has how much of which, and who did not get a place, and by how much. */
import type { ReactNode } from 'react';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { bytes } from '../../base/text.ts';
import { Panel } from '../../parts/bits.tsx';
import { Stack } from '../../parts/charts.tsx';

/** Where the engines of a pool or a model are, and the memory that their tokens were measured in. */
interface Placed {
  readonly owner: string;
  readonly plan: NonNullable<NonNullable<ExpertPool['status']>['plan']>;
  readonly measured: ReadonlyMap<string, number>;
}

export function placedOf(pools: readonly ExpertPool[], models: readonly EnergyModel[]): readonly Placed[] {
  const ofPools = pools.flatMap(({ metadata, status }) =>
    status?.plan === undefined
      ? []
      : [
          {
            owner: metadata.name,
            plan: status.plan,
            measured: new Map(
              (status.experts ?? []).flatMap(({ name, memory }) =>
                memory?.measured === undefined ? [] : [[name, memory.measured] as const],
              ),
            ),
          },
        ],
  );
  const ofModels = models.flatMap(({ metadata, status }) =>
    status?.plan === undefined ? [] : [{ owner: metadata.name, plan: status.plan, measured: new Map() }],
  );
  return [...ofPools, ...ofModels];
}

const words: Readonly<Record<string, string>> = {
  NotEnoughMemory: 'not enough memory beside its tenants',
  Unhealthy: 'the GPU is not healthy',
  NotAllowed: 'the pool may not use it',
  Exclusive: 'a tenant has it alone',
  Apart: 'it must not be beside a tenant',
  NotLinked: 'no NVLink to its other GPUs',
  HeldElsewhere: 'somebody outside of the fleet holds it',
  SizeUnknown: 'nobody knows its size yet',
};

export function SlotBars({ placed }: { readonly placed: readonly Placed[] }): ReactNode {
  const tenants = placed.flatMap(({ owner, plan, measured }) =>
    plan.assignments.map(({ item, slot, bytes, admitted }) => ({
      name: `${owner}/${item}`,
      slot,
      bytes,
      admitted,
      measured: measured.get(item),
    })),
  );
  const slots = [...Map.groupBy(tenants, ({ slot }) => slot)].sort(([a], [b]) => (a < b ? -1 : 1));
  const most = Math.max(1, ...slots.map(([, all]) => all.reduce((sum, one) => sum + one.bytes, 0)));
  const rejected = placed.flatMap(({ owner, plan }) => (plan.rejected ?? []).map((one) => ({ ...one, name: `${owner}/${one.item}` })));
  const modes = [...new Set(placed.flatMap(({ plan }) => plan.mode ?? []))];
  return (
    <>
      <Panel title="GPUs" aside={<span className="muted small">{modes.length === 0 ? 'no mode can be used' : modes.join(', ')}</span>}>
        <ul className="slots">
          {slots.map(([slot, all]) => (
            <li key={slot}>
              <div className="row">
                <strong>{slot}</strong>
                <span className="muted small">{bytes(all.reduce((sum, one) => sum + one.bytes, 0))} planned</span>
              </div>
              <Stack
                parts={all.map(({ name, bytes }, at) => ({ name, value: bytes, tone: `part-${at % 4}` }))}
                total={most}
                label={`${slot}: ${all.map(({ name, bytes: size }) => `${name} ${bytes(size)}`).join(', ')}`}
              />
              <p className="legend">
                {all.map(({ name, bytes: size, admitted, measured }, at) => (
                  <span key={name}>
                    <span className={`swatch part-${at % 4}`} aria-hidden="true" />
                    {name} <span className="muted">{bytes(size)}</span>
                    {measured !== undefined && <span className="muted">, tokens measured {bytes(measured)}</span>}
                    {!admitted && <span className="badge-text">waits for its turn</span>}
                  </span>
                ))}
              </p>
            </li>
          ))}
        </ul>
      </Panel>
      {rejected.length > 0 && (
        <Panel title="Places that were not given">
          <div className="scroll" tabIndex={0} role="region" aria-label="Table of places that were not given">
            <table className="table">
              <thead>
                <tr>
                  <th>Who</th>
                  <th>Where</th>
                  <th>Why not</th>
                  <th className="right">Short by</th>
                </tr>
              </thead>
              <tbody>
                {rejected.map(({ name, slot, reason, shortByBytes }, at) => (
                  <tr key={`${name} ${slot ?? ''} ${at}`}>
                    <td>{name}</td>
                    <td>{slot ?? 'anywhere'}</td>
                    <td>
                      {reason} <span className="muted">{words[reason]}</span>
                    </td>
                    <td className="right">{shortByBytes === undefined ? '' : bytes(shortByBytes)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
    </>
  );
}
