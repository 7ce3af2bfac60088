import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from './service.ts'

type Log = { readonly info: (record: object, message: string) => void }

/** Told of every answer: counts it, and logs writes and failures. Evaluations and other reads leave no line. */
export const observer = ({ metrics }: Service, log: Log) => {
  const errors = metrics.serverErrors()
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { spec } = request
    const { statusCode } = reply
    const route = spec?.url ?? ''
    metrics.requestDuration(route, request.method, String(statusCode)).observe(reply.elapsedTime / 1000)
    if (statusCode >= 500) errors.value++
    if (statusCode < 500 && !spec?.writes) return
    const actor = request.caller?.actor
    const record = { requestId: request.id, method: request.method, route, status: statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 }
    log.info({ ...record, actor: actor?.id ?? actor?.kind }, 'answered')
  }
}
