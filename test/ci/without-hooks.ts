import hooks, { type AsyncHook } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Replaces the hooks of asynchronous work by hooks without effect; imported before tap. tap installs hooks to find the
 * test that caused an uncaught error, and they cost work for every promise. An uncaught error ends the process instead.
 */
const inert: AsyncHook = { enable: () => inert, disable: () => inert }
hooks.createHook = () => inert
syncBuiltinESMExports()
