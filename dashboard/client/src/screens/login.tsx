import { type ReactNode, useEffect, useState } from 'react';
import type { Session } from '../../../src/base/wire.ts';
import icon from '../icon.svg';
import { RequestError, send } from '../base/api.ts';
import { Trouble } from '../parts/bits.tsx';

const isUnknown = (error: unknown): boolean => error instanceof RequestError && error.status === 401;

/** The key that `fleet dashboard` put behind the `#` of its address: never sent to a server as part of it. */
function keyOfAddress(): string {
  const key = new URLSearchParams(window.location.hash.slice(1)).get('key') ?? '';
  if (key !== '') window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return key;
}

export function Login(props: { readonly onIn: (session: Session) => void; readonly error?: unknown; readonly ended?: boolean }): ReactNode {
  const [key] = useState(keyOfAddress);
  const [token, setToken] = useState(key);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const enter = (): void => {
    setBusy(true);
    setError(undefined);
    send<Session>('POST', '/api/session', { token })
      .then(props.onIn, setError)
      .finally(() => setBusy(false));
  };
  useEffect(() => {
    if (key !== '') enter();
  }, []);
  const first = props.error !== undefined && !isUnknown(props.error) ? props.error : undefined;
  return (
    <main className="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          enter();
        }}
      >
        <img src={icon} alt="" width="44" height="44" />
        <h1>AgentFleet</h1>
        <p className="muted">You act with your own rights: everything is read and written as the user of this token.</p>
        {props.ended === true && (
          <div className="trouble" role="alert">
            <strong>Your login has ended.</strong> The token has expired or was taken back.
            <div className="cure">Log in with a new one; you come back to this page.</div>
          </div>
        )}
        {(error ?? first) !== undefined && <Trouble what="You could not be logged in:" error={error ?? first} />}
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          autoFocus
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
        <button type="submit" className="primary" disabled={busy}>
          {busy ? 'Asking the API server …' : 'Log in'}
        </button>
        <p className="muted small">
          Get one with <code>kubectl create token NAME</code>, or open the page with <code>fleet dashboard</code>, which uses what kubectl
          uses.
        </p>
      </form>
    </main>
  );
}
