/** Login, frame and screens. */
import { Component, lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { Route, Switch } from 'wouter';
import type { Session } from '../../src/base/wire.ts';
import { get, RequestError, useToken, whenOut } from './base/api.ts';
import { scopeOf, SessionContext } from './base/place.ts';
import { store } from './base/store.ts';
import { Empty, Trouble } from './parts/bits.tsx';
import { FleetScreen } from './screens/fleet/fleet.tsx';
import { Frame } from './screens/frame.tsx';
import { Login } from './screens/login.tsx';

const TaskScreen = lazy(() => import('./screens/task/index.ts').then(({ TaskScreen }) => ({ default: TaskScreen })));

const PoolsScreen = lazy(() => import('./screens/pools/pools.tsx').then(({ PoolsScreen }) => ({ default: PoolsScreen })));
const RolloutsScreen = lazy(() => import('./screens/pools/rollouts.tsx').then(({ RolloutsScreen }) => ({ default: RolloutsScreen })));
const EnergyScreen = lazy(() => import('./screens/pools/energy.tsx').then(({ EnergyScreen }) => ({ default: EnergyScreen })));
const NewTaskScreen = lazy(() => import('./screens/new.tsx').then(({ NewTaskScreen }) => ({ default: NewTaskScreen })));

/** A screen that fails leaves the frame, so that the others can be reached. */
class Guard extends Component<{ readonly children: ReactNode }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {};
  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }
  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return <Trouble what="This screen failed." error={this.state.error} />;
  }
}

function Screens(): ReactNode {
  return (
    <Suspense fallback={<Empty title="Loading …" />}>
      <Switch>
        <Route path="/">
          <FleetScreen />
        </Route>
        <Route path="/tasks/:namespace/:name">
          {({ namespace, name }) => <TaskScreen key={`${namespace}/${name}`} namespace={namespace} name={name} />}
        </Route>
        <Route path="/pools" component={PoolsScreen} />
        <Route path="/rollouts" component={RolloutsScreen} />
        <Route path="/energy" component={EnergyScreen} />
        <Route path="/new" component={NewTaskScreen} />
        <Route>
          <Empty title="There is no such page">
            <a href="/">To the fleet</a>
          </Empty>
        </Route>
      </Switch>
    </Suspense>
  );
}

type State =
  | { readonly is: 'Asking' }
  | { readonly is: 'In'; readonly session: Session }
  | { readonly is: 'Out'; readonly error?: unknown; readonly ended?: boolean };

export function App(): ReactNode {
  const [state, setState] = useState<State>({ is: 'Asking' });
  const enter = useCallback((session: Session) => {
    useToken(session);
    setState({ is: 'In', session });
    const named = scopeOf(window.location.search);
    const lost = (): void =>
      void get<Session>('/api/session').catch((error: unknown) => {
        if (!(error instanceof RequestError) || error.status !== 401) return;
        store.close();
        setState({ is: 'Out', error, ended: true });
      });
    whenOut(lost);
    store.connect(named.length === 0 ? [session.namespace] : named, lost);
  }, []);
  useEffect(() => {
    get<Session>('/api/session').then(enter, (error: unknown) => setState({ is: 'Out', error }));
    return () => store.close();
  }, [enter]);
  if (state.is === 'Asking') return <div className="splash" aria-busy="true" />;
  if (state.is === 'Out') return <Login onIn={enter} {...(state.ended === true ? { ended: true } : {})} error={state.error} />;
  const leave = (): void => {
    store.close();
    setState({ is: 'Out' });
  };
  return (
    <SessionContext.Provider value={state.session}>
      <Frame onLeave={leave}>
        <Guard>
          <Screens />
        </Guard>
      </Frame>
    </SessionContext.Provider>
  );
}
