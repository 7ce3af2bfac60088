import { idFrom } from '../commands/envelope.ts'
import { namespace } from '../commands/namespace.ts'
import type { Execute } from '../commands/execute.ts'
import type { Config } from '../config/load.ts'
import { isRefusal } from '../errors.ts'
import type { Stored } from '../events/log.ts'
import { type Issuer, issueToken, staticToken } from '../http/auth/issue-token.ts'

export type Bootstrap = Issuer & {
  readonly config: Config
  /** Knows all that was in the log when the service started. */
  readonly flagStore: { readonly namespace: (key: string) => unknown }
}

/** One bootstrap token a log, whoever starts first: its stream is the reservation (api.md §6.3). */
const BOOTSTRAP_ID = idFrom('rollcall', 'initial_bootstrap_token')

/** What the work gave, or undefined where what it makes is there already. */
const unlessThere = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    if (isRefusal(error, 'not_unique')) return undefined
    throw error
  }
}

const context = { actor: { kind: 'system' } } as const

/** Makes the namespace `default`, unless it is there. */
export const createDefaultNamespace = async ({
  execute,
  applied,
}: {
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
}): Promise<void> => {
  const incarnation = idFrom('rollcall', 'default')
  const data = { key: 'default', incarnation, name: 'Default', description: 'Default namespace', protected: true }
  await unlessThere(async () => applied((await execute(namespace, 'default', 'CreateNamespace', data, context)).stored))
}

/** Makes the bootstrap token, unless it is there. */
const createBootstrapToken = async ({ config, ...issuer }: Issuer & Pick<Bootstrap, 'config'>) => {
  const { token: clientToken, expiration, metadata } = config.authentication.methods.token.bootstrap
  const asked = staticToken({
    name: 'initial_bootstrap_token',
    description: 'Initial token created when bootstrapping authentication',
    expiresAt: expiration === undefined ? undefined : new Date(issuer.now().getTime() + expiration).toISOString(),
    namespaceKey: '',
    metadata: { ...metadata },
  })
  return unlessThere(() => issueToken(issuer, { ...asked, id: BOOTSTRAP_ID, clientToken, bootstrap: true }, context))
}

/** Makes what every log begins with: the namespace `default` and the bootstrap token. Gives the token's value when it was generated here and now, to be shown once. */
export const bootstrap = async (options: Bootstrap): Promise<string | undefined> => {
  if (!options.flagStore.namespace('default')) await createDefaultNamespace(options)
  const { enabled, bootstrap } = options.config.authentication.methods.token
  const made = enabled ? await createBootstrapToken(options) : undefined
  return bootstrap.token === undefined ? made?.clientToken : undefined
}
