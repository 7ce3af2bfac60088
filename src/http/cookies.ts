import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from './service.ts'

type Site = Pick<Service, 'names' | 'settings'>

const pathOf = (url: string | undefined): string => (url === undefined ? '' : new URL(url).pathname.replace(/\/+$/, ''))

/** Path under which browsers see this service: that of the public URL, with a trusted proxy's prefix in front; '' at the root (api.md §3.4). */
export const basePath = (request: FastifyRequest, { settings }: Site): string => {
  const prefix = settings.trustProxy ? request.headers['x-forwarded-prefix'] : undefined
  const trusted = typeof prefix === 'string' && /^(\/[A-Za-z0-9._~-]+)*$/.test(prefix) ? prefix : ''
  return trusted + pathOf(settings.publicUrl)
}

const attributes = (request: FastifyRequest, site: Site) => {
  const { domain, secure } = site.settings.session
  return {
    path: basePath(request, site) || '/',
    httpOnly: true,
    secure,
    sameSite: 'strict',
    ...(domain === undefined || domain === 'localhost' ? {} : { domain }),
  } as const
}

/** Sets the token cookie for as many milliseconds, at most the session's lifetime. */
export const setTokenCookie = (reply: FastifyReply, request: FastifyRequest, site: Site, token: string, lifeMs: number): void => {
  const maxAge = Math.floor(Math.min(lifeMs, site.settings.session.tokenLifetime) / 1000)
  reply.setCookie(site.names.tokenCookie, token, { ...attributes(request, site), maxAge, expires: new Date(Date.now() + maxAge * 1000) })
}

/** Clears the token cookie: same name, path and domain, no value. */
export const clearTokenCookie = (reply: FastifyReply, request: FastifyRequest, site: Site): void => {
  reply.setCookie(site.names.tokenCookie, '', { ...attributes(request, site), maxAge: 0 })
}
