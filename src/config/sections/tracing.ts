import { url } from '../addresses.ts'
import { setting } from '../setting.ts'

/** Settings of traces. The standard variables of OpenTelemetry set everything else. */
export const tracing = {
  otlp_endpoint: setting(
    url,
    {
      shown: 'the variable `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_EXPORTER_OTLP_ENDPOINT` and `/v1/traces`',
      from: (): string | undefined => undefined,
    },
    'Collector to which traces are sent by OTLP over HTTP, such as http://localhost:4318. Without it, no traces are recorded.',
  ),
}
