import { isRefusal } from '../../base/errors.ts'
import { idFrom } from '../../commands/envelope.ts'
import { namespace } from '../../commands/namespace.ts'
import type { Config } from '../../config/load.ts'
import { type Issuer, issueToken } from '../../http/auth/issue-token.ts'
import { staticToken } from '../../http/auth/requested-access.ts'

type Bootstrap = Issuer & {
  readonly config: Config
  /** Contains all events that were in the log at the start. */
  readonly flagStore: { readonly life: (namespace: string) => string | undefined }
}

/**
 * Id of the bootstrap token. A fixed id makes a second bootstrap token impossible, because its stream would already
 * exist (api.md §6.3).
 */
const BOOTSTRAP_ID = idFrom('rollcall', 'initial_bootstrap_token')

/** Returns the result of the work, or undefined if its document already exists. */
const unlessThere = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    // An unreadable document exists.
    if (isRefusal(error, 'not_unique') || isRefusal(error, 'event_unreadable')) return undefined
    throw error
  }
}

const context = { actor: { kind: 'system' } } as const

/** Creates the namespace `default` if it does not exist. */
export const createDefaultNamespace = async ({
  execute,
  applied,
}: Pick<Issuer, 'execute' | 'applied'>): Promise<void> => {
  const incarnation = idFrom('rollcall', 'default')
  const data = { key: 'default', incarnation, name: 'Default', description: 'Default namespace', protected: true }
  await unlessThere(async () => applied((await execute(namespace, 'default', 'CreateNamespace', data, context)).stored))
}

/** Creates the bootstrap token if it does not exist. */
const createBootstrapToken = async ({ config, ...issuer }: Issuer & Pick<Bootstrap, 'config'>) => {
  const { token: clientToken, expiration, metadata } = config.authentication.methods.token.bootstrap
  const asked = staticToken(
    {
      name: 'initial_bootstrap_token',
      description: 'Initial token created when bootstrapping authentication',
      expiresAt: expiration === undefined ? undefined : new Date(issuer.now().getTime() + expiration).toISOString(),
      namespaceKey: '',
      metadata: { ...metadata },
      role: undefined,
      grants: undefined,
    },
    {},
  )
  return unlessThere(() => issueToken(issuer, { ...asked, id: BOOTSTRAP_ID, clientToken, bootstrap: true }, context))
}

/**
 * Creates the namespace `default` and the bootstrap token. Returns the token if this call generated it, because it is
 * shown only once.
 */
export const bootstrap = async (options: Bootstrap): Promise<string | undefined> => {
  if (options.flagStore.life('default') === undefined) await createDefaultNamespace(options)
  const { enabled, bootstrap } = options.config.authentication.methods.token
  const made = enabled ? await createBootstrapToken(options) : undefined
  return bootstrap.token === undefined ? made?.clientToken : undefined
}
