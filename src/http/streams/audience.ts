import type { FastifyRequest } from 'fastify'
import { allowed, type Reach } from '../../access/reach.ts'
import type { RequiredRight } from '../route/required-rights.ts'
import type { AuthServices } from '../services/auth.ts'
import type { Audience } from './flag-streams.ts'

const mayListen = (reach: Reach, { bit }: RequiredRight, namespace: string): boolean =>
  reach.full || ((reach.namespace === undefined || reach.namespace === namespace) && allowed(reach, bit, namespace))

/** The audience of a stream about a namespace: the token of the request, with the right of its route. */
export const audienceOf =
  ({ verifier }: Pick<AuthServices, 'verifier'>) =>
  (request: FastifyRequest, namespace: string): Audience => {
    const { id } = request.caller.actor
    const need = request.spec!.wants!.need!
    const isAllowed = (): boolean | Promise<boolean> => {
      if (id === undefined) return true
      const entry = verifier.byId(id)
      return entry instanceof Promise
        ? entry.then((found) => found !== undefined && mayListen(found.reach, need, namespace))
        : entry !== undefined && mayListen(entry.reach, need, namespace)
    }
    return { key: `${need.right} ${namespace} ${id ?? ''}`, isAllowed }
  }
