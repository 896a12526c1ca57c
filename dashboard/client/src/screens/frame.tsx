/** Frame around every screen: navigation, the namespaces that are followed, whether the data is fresh. */
import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { KindState } from '../../../src/base/wire.ts';
import icon from '../icon.svg';
import { send } from '../base/api.ts';
import { useNow } from '../base/hooks.ts';
import { follow, scopeOf, setTheme, type Theme, themeNow, themes, useSession } from '../base/place.ts';
import { useFleet } from '../base/store.ts';
import { span } from '../base/text.ts';

const places = [
  { to: '/', name: 'Fleet', icon: 'M3 5h14M3 10h14M3 15h14' },
  { to: '/pools', name: 'Pools', icon: 'M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01' },
  { to: '/rollouts', name: 'Rollouts', icon: 'M4 16 9 9l3 3 4-8M12 4h4v4' },
  { to: '/energy', name: 'Energy', icon: 'M11 2 4 11h5l-1 7 7-9h-5z' },
] as const;

function Icon({ path }: { readonly path: string }): ReactNode {
  return (
    <svg
      viewBox="0 0 20 20"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

function Navigation({ waiting }: { readonly waiting: number }): ReactNode {
  const [location] = useLocation();
  const isHere = (to: string): boolean => (to === '/' ? location === '/' || location.startsWith('/tasks') : location.startsWith(to));
  return (
    <nav aria-label="Screens">
      {places.map(({ to, name, icon }) => (
        <Link key={to} href={to} {...(isHere(to) ? { 'aria-current': 'page' as const } : {})}>
          <Icon path={icon} />
          <span>{name}</span>
          {to === '/' && waiting > 0 && (
            <span className="count alert" title="wait for a person">
              {waiting}
            </span>
          )}
        </Link>
      ))}
      <Link href="/new" className="new" {...(location === '/new' ? { 'aria-current': 'page' as const } : {})}>
        <Icon path="M10 4v12M4 10h12" />
        <span>New task</span>
      </Link>
    </nav>
  );
}

const shown = (state: KindState): string =>
  state.namespaces === 'All' ? 'all namespaces' : state.namespaces.length === 0 ? 'no namespace' : state.namespaces.join(', ');

/** Shows the namespaces that are followed, to be changed. */
function ScopeBox({ state }: { readonly state: KindState | undefined }): ReactNode {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(() => scopeOf(window.location.search).join(', '));
  return (
    <div className="scope">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} title="Namespaces that are followed">
        <span className="muted">in</span> {state === undefined ? '…' : shown(state)}
      </button>
      {open && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            follow(text);
          }}
        >
          <label htmlFor="scope">Namespaces, between commas</label>
          <input id="scope" value={text} placeholder="all that I may see" onChange={({ target }) => setText(target.value)} autoFocus />
          <button type="submit" className="primary">
            Follow
          </button>
        </form>
      )}
    </div>
  );
}

/** Reports when the data that is shown may be old, and which data may not be seen. */
function Notices(): ReactNode {
  const { link, states, at } = useFleet();
  const now = useNow();
  const tasks = states.find(({ kind }) => kind === 'AgentTask');
  const stale = states.find(({ state }) => state === 'Stale');
  const denied = tasks?.denied ?? [];
  const asked = scopeOf(window.location.search);
  return (
    <div aria-live="polite">
      {link === 'Away' && (
        <p className="notice bad">
          <strong>Not connected.</strong> The dashboard does not answer since {span(now - at)}; what you see is as of then. It goes on by
          itself.
        </p>
      )}
      {link === 'Open' && stale !== undefined && (
        <p className="notice bad">
          <strong>Stale.</strong> What you see may be old: {stale.message}. It goes on by itself.
        </p>
      )}
      {tasks?.state === 'Denied' ? (
        <p className="notice wait">
          <strong>You may not look at tasks in {asked.length === 0 ? 'all namespaces' : asked.join(', ')}.</strong> Name namespaces that you
          may see under “in” above, or ask for the ClusterRole agentfleet-viewer.
        </p>
      ) : (
        denied.length > 0 &&
        asked.length > 0 && (
          <p className="notice wait">
            <strong>You may not look into {denied.join(', ')}.</strong> What else you named is shown; ask for the ClusterRole
            agentfleet-viewer there.
          </p>
        )
      )}
    </div>
  );
}

function ThemeButton(): ReactNode {
  const [theme, set] = useState<Theme>(themeNow);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button
      type="button"
      className="quiet"
      title="Colours"
      onClick={() => {
        setTheme(next);
        set(next);
      }}
    >
      {{ system: 'Auto', light: 'Light', dark: 'Dark' }[theme]}
    </button>
  );
}

export function Frame({ children, onLeave }: { readonly children: ReactNode; readonly onLeave: () => void }): ReactNode {
  const session = useSession();
  const { objects, states, link } = useFleet();
  const waiting = [...objects.AgentTask.values()].filter(({ waits }) => waits !== undefined).length;
  const tasks = states.find(({ kind }) => kind === 'AgentTask');
  const live = link === 'Open' && tasks?.state === 'Live';
  const leave = (): void => void send('DELETE', '/api/session').finally(onLeave);
  return (
    <div className="frame">
      <a className="skip" href="#content">
        To the content
      </a>
      <header className="bar">
        <Link href="/" className="brand">
          <img src={icon} alt="" width="26" height="26" />
          AgentFleet
        </Link>
        <ScopeBox state={tasks} />
        <span className={`live ${live ? 'good' : 'wait'}`} role="status">
          <span className="dot" aria-hidden="true" />
          {live
            ? 'Live'
            : link === 'Away'
              ? 'Not connected'
              : tasks?.state === 'Stale'
                ? 'Stale'
                : tasks?.state === 'Denied'
                  ? 'Denied'
                  : 'Loading'}
        </span>
        {session.readOnly && <span className="badge-text">read-only</span>}
        <span className="grow" />
        <span className="user muted" title={session.user}>
          {session.user.split(':').at(-1)}
        </span>
        <ThemeButton />
        {session.mode === 'Token' && (
          <button type="button" className="quiet" onClick={leave}>
            Log out
          </button>
        )}
      </header>
      <Navigation waiting={waiting} />
      <main id="content" tabIndex={-1}>
        <Notices />
        {children}
      </main>
    </div>
  );
}
