import { mint } from '../auth/client-token.ts'
import { idFrom } from '../commands/envelope.ts'
import type { Execute } from '../commands/execute.ts'
import { namespace } from '../commands/namespace.ts'
import { token } from '../commands/token.ts'
import type { Config } from '../config/load.ts'
import { isRefusal } from '../errors.ts'
import type { Stored } from '../events/log.ts'

export type Bootstrap = {
  readonly config: Config
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  readonly digest: (secret: string) => string
  readonly now: () => Date
  /** Knows all that was in the log when the service started. */
  readonly flagStore: { readonly namespace: (key: string) => unknown }
}

/** One bootstrap token a log, whoever starts first: its stream is the reservation (api.md §6.3). */
const BOOTSTRAP_ID = idFrom('rollcall', 'initial_bootstrap_token')

const unlessThere = async (work: () => Promise<void>): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (error) {
    if (isRefusal(error, 'not_unique')) return false
    throw error
  }
}

/** Makes what every log begins with: the namespace `default` and the bootstrap token. Gives the token's value when it was generated here and now, to be shown once. */
export const bootstrap = async ({
  config,
  execute,
  applied,
  digest,
  now,
  flagStore,
}: Bootstrap): Promise<string | undefined> => {
  const context = { actor: { kind: 'system' } } as const
  const makeDefault = async () => {
    const incarnation = idFrom('rollcall', 'default')
    const data = { key: 'default', incarnation, name: 'Default', description: 'Default namespace', protected: true }
    await applied((await execute(namespace, 'default', 'CreateNamespace', data, context)).stored)
  }
  if (!flagStore.namespace('default')) await unlessThere(makeDefault)

  const { enabled, bootstrap } = config.authentication.methods.token
  if (!enabled) return undefined
  const secret = bootstrap.token ?? mint('bootstrap')
  const made = await unlessThere(async () => {
    const issued = now()
    const data = {
      id: BOOTSTRAP_ID,
      digest: digest(secret),
      method: 'token' as const,
      issuedAt: issued.toISOString(),
      ...(bootstrap.expiration === undefined
        ? {}
        : { expiresAt: new Date(issued.getTime() + bootstrap.expiration).toISOString() }),
      attributes: {
        'token.name': 'initial_bootstrap_token',
        'token.description': 'Initial token created when bootstrapping authentication',
      },
      metadata: { ...bootstrap.metadata },
      bootstrap: true,
    }
    await applied((await execute(token, BOOTSTRAP_ID, 'IssueToken', data, context)).stored)
  })
  return made && bootstrap.token === undefined ? secret : undefined
}
