import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { setTheme, themeNow } from './base/place.ts';

setTheme(themeNow());
createRoot(document.getElementById('root')!).render(<App />);
