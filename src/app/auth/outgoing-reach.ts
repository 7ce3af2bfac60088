import { plainHttp } from '../../auth/outgoing/hosts.ts'
import type { Reach } from '../../auth/outgoing/outgoing.ts'
import { proxyFor } from '../../auth/outgoing/proxies.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { Config } from '../../config/load.ts'

type Own = { readonly ca_path?: string | undefined; readonly proxy?: string | undefined }

/** Connection settings of a provider, the code host or the cluster: its own, and the shared ones. */
export const reachOf = (
  { outgoing: { https_proxy: https, http_proxy: http, no_proxy: except, http_hosts } }: Config,
  { ca_path, proxy }: Own,
  tracer?: Tracer,
): Reach => ({
  tracer,
  caPath: ca_path,
  proxyOf: proxyFor({ own: proxy, https, http, except }),
  mayBeHttp: plainHttp(http_hosts),
})
