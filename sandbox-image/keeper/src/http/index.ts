/** The HTTP face of the keeper: routes, tokens, errors. Everything it does is done by another folder. */
export { createApp } from './app.ts';
