import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Time left of a token's life at which it is renewed: kubelet writes a new service-account token at 20 % left, so at 15 % it is there. */
const LEFT = 0.15
/** An exchange that gave nothing newer is not repeated sooner. */
const PAUSE_MS = 10_000

/**
 * Client tokens for a program in a pod. The service-account token is read from its file anew for each exchange, because kubelet
 * replaces it, and exchanged before the client token ends; until then a failed exchange changes nothing.
 */
export const rollcall = ({ url, tokenFile, path = '/auth/v1/method/orchestrator/serviceaccount', now = Date.now }) => {
  let held
  let running

  const exchange = async () => {
    const service_account_token = (await readFile(tokenFile, 'utf8')).trim()
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      body: JSON.stringify({ service_account_token }),
    })
    if (response.status !== 200)
      throw new Error(`the exchange answered ${response.status}: ${(await response.json()).message}`)
    const { clientToken, authentication } = await response.json()
    const [from, end] = [now(), Date.parse(authentication.expiresAt)]
    held = { clientToken, end, renewAt: Math.max(end - (end - from) * LEFT, from + PAUSE_MS) }
  }

  /** One exchange at a time; who asks meanwhile shares it. */
  const renew = () => {
    running ??= exchange().finally(() => {
      running = undefined
    })
    return running
  }

  const token = async () => {
    if (held && now() < held.renewAt) return held.clientToken
    try {
      await renew()
    } catch (error) {
      if (!held || now() >= held.end) throw error
      held.renewAt = now() + PAUSE_MS
    }
    return held.clientToken
  }

  return {
    /** A client token that is good now. */
    token,
    /** Like fetch, for a path of the service. A token that was revoked is replaced once. */
    request: async (path, init = {}) => {
      const send = async (bearer) =>
        fetch(new URL(path, url), { ...init, headers: { ...init.headers, authorization: `Bearer ${bearer}` } })
      const used = await token()
      const response = await send(used)
      if (response.status !== 401) return response
      if (held?.clientToken === used) held = undefined
      return send(await token())
    },
  }
}

/** Prints what a flag says, every ten seconds. */
const watch = async ({
  ROLLCALL_URL,
  TOKEN_FILE = '/var/run/secrets/rollcall/token',
  NAMESPACE = 'default',
  FLAG,
  EVERY = '10',
}) => {
  const client = rollcall({ url: ROLLCALL_URL, tokenFile: TOKEN_FILE })
  for (;;) {
    try {
      const body = JSON.stringify({
        namespaceKey: NAMESPACE,
        flagKey: FLAG,
        entityId: process.env.HOSTNAME ?? 'example',
        context: {},
      })
      const response = await client.request('/evaluate/v1/boolean', { method: 'POST', body })
      const { enabled, reason, message } = await response.json()
      console.log(response.ok ? `${FLAG} is ${enabled ? 'on' : 'off'} (${reason})` : `${response.status}: ${message}`)
    } catch (error) {
      console.error(error.message)
    }
    await new Promise((wake) => setTimeout(wake, Number(EVERY) * 1000))
  }
}

// A file of a ConfigMap is a link.
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await watch(process.env)
