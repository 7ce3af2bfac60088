{{- /* A long name is truncated, and a part of its digest keeps it unique. */}}
{{- define "rollcall.name" -}}
{{- $full := ternary .Release.Name (printf "%s-rollcall" .Release.Name) (contains "rollcall" .Release.Name) }}
{{- if gt (len $full) 53 }}{{ printf "%s-%s" ($full | trunc 44 | trimSuffix "-") (sha256sum $full | trunc 8) }}{{ else }}{{ $full }}{{ end }}
{{- end }}

{{- define "rollcall.selector" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rollcall.labels" -}}
{{ include "rollcall.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "rollcall.onServers" -}}
{{- if eq .Values.mode "servers" }}yes{{ else if ne .Values.mode "embedded" }}{{ fail (printf "mode must be servers or embedded, not %q" .Values.mode) }}{{ end }}
{{- end }}

{{- /* Name of the mounted Secret; empty for an embedded store without keysSecret. */}}
{{- define "rollcall.secret" -}}
{{- if include "rollcall.onServers" . }}{{ required "servers.secret must name the Secret with eventstore-url, mongodb-url, redis-url and keys" .Values.servers.secret }}{{ else }}{{ .Values.embedded.keysSecret }}{{ end }}
{{- end }}

{{- /* Settings of the chart; they override those of the values. */}}
{{- define "rollcall.settings" -}}
version: "1.0"
storage:
  type: {{ ternary "cluster" "embedded" (eq .Values.mode "servers") }}
{{- if include "rollcall.secret" . }}
keys:
  file: /etc/rollcall-secrets/keys
{{- end }}
{{- if .Values.ledger.keySecret }}
history:
  ledger:
    key_file: /etc/rollcall-ledger/signing-key.pem
{{- end }}
server:
{{- if ne .Values.listenAddress "0.0.0.0" }}
  host: {{ .Values.listenAddress | quote }}
{{- end }}
  shutdown_grace: {{ printf "%ds" (int .Values.shutdownGraceSeconds) }}
metrics:
  address: {{ printf (ternary "[%s]:%d" "%s:%d" (contains ":" .Values.listenAddress)) .Values.listenAddress (int .Values.metrics.port) | quote }}
{{- end }}

{{- /* Settings that are refused under config, because a ConfigMap is readable by every reader of the namespace. */}}
{{- define "rollcall.secretKeys" -}}
eventstore.url
mongodb.url
redis.url
redis.password
redis.sentinel_password
authentication.methods.token.bootstrap.token
authentication.methods.oidc.providers.*.client_secret
authentication.methods.codehost.client_secret
outgoing.https_proxy
outgoing.http_proxy
authentication.methods.oidc.providers.*.proxy
authentication.methods.codehost.proxy
authentication.methods.orchestrator.proxy
{{- end }}

{{- define "rollcall.refuseSecrets" -}}
{{- range $key := splitList "\n" (include "rollcall.secretKeys" $) }}
{{- $found := list $.Values.config }}
{{- range $part := splitList "." $key }}
{{- $next := list }}
{{- range $node := $found }}
{{- if kindIs "map" $node }}
{{- if eq $part "*" }}{{ $next = concat $next (values $node) }}{{ else if hasKey $node $part }}{{ $next = append $next (get $node $part) }}{{ end }}
{{- end }}
{{- end }}
{{- $found = $next }}
{{- end }}
{{- /* The address of a proxy is a secret only if it has a user name or a password. */}}
{{- range $found }}{{ if and . (or (not (hasSuffix "proxy" $key)) (contains "@" (toString .))) }}{{ fail (printf "config.%s is a secret, and a ConfigMap is not secret: set it with env or envFrom from a Secret" $key) }}{{ end }}{{ end }}
{{- end }}
{{- end }}

{{- define "rollcall.config" -}}
{{- include "rollcall.refuseSecrets" . }}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.config) (fromYaml (include "rollcall.settings" .))) }}
{{- end }}

{{- /* Not empty if service-account tokens can be exchanged: the pod then calls the API server. Fails if every account could exchange. */}}
{{- define "rollcall.exchanges" -}}
{{- $orchestrator := dig "authentication" "methods" "orchestrator" (dict) .Values.config }}
{{- if $orchestrator.enabled }}
{{- $authorization := dig "authorization" (dict) .Values.config }}
{{- $open := has "orchestrator" (default (list) (dig "authentication" "open_on_purpose" (list) .Values.config)) }}
{{- if not (or $authorization.rules $authorization.unmatched $open) }}
{{- if not $orchestrator.allowed }}{{ fail "authentication.methods.orchestrator.allowed must name the service accounts that may exchange, or authorization.rules must define their access" }}{{ end }}
{{- range $orchestrator.allowed }}
{{- if eq "*" .namespace }}{{ fail "authentication.methods.orchestrator.allowed must name each namespace: * is the whole cluster" }}{{ end }}
{{- end }}
{{- end }}yes
{{- end }}
{{- end }}

{{- /* Not empty if the cluster verifies each token (TokenReview), for which the pod needs a right. */}}
{{- define "rollcall.reviews" -}}
{{- $orchestrator := dig "authentication" "methods" "orchestrator" (dict) .Values.config }}
{{- if and (include "rollcall.exchanges" .) (ne "jwks" (default "token_review" $orchestrator.verification)) }}yes{{ end }}
{{- end }}

{{- /* Refuses to change the mode of a release, because the new mode begins an empty history. */}}
{{- define "rollcall.sameMode" -}}
{{- $other := ternary "StatefulSet" "Deployment" (eq (include "rollcall.onServers" .) "yes") }}
{{- if lookup "apps/v1" $other .Release.Namespace (include "rollcall.name" .) }}
{{- fail (printf "this release runs in the other mode: the upgrade would remove its %s and begin an empty history; install a release with another name and move the history to it (docs/guides/moving.md)" $other) }}
{{- end }}
{{- range $name := list "protocol" "host" "http_port" "https_port" "cert_file" "cert_key" }}
{{- if hasKey (dig "server" (dict) $.Values.config) $name }}{{ fail (printf "config.server.%s has no effect in the chart: the container listens with http on port 8080 of listenAddress, and the ingress controller ends TLS" $name) }}{{ end }}
{{- end }}
{{- if eq 8080 (int .Values.metrics.port) }}{{ fail "metrics.port must not be 8080, because the service listens there" }}{{ end }}
{{- end }}

{{- /* networkPolicy.outPorts and the port of the collector of traces, separated by commas. */}}
{{- define "rollcall.outPorts" -}}
{{- $ports := list }}
{{- range .Values.networkPolicy.outPorts }}{{ $ports = append $ports (toString (int .)) }}{{ end }}
{{- with dig "tracing" "otlp_endpoint" "" .Values.config }}
{{- $port := regexFind ":[0-9]+$" (urlParse .).host | trimPrefix ":" }}
{{- $ports = append $ports (default (ternary "443" "80" (hasPrefix "https" .)) $port) }}
{{- end }}
{{- join "," (uniq $ports) }}
{{- end }}

{{- define "rollcall.pod" -}}
metadata:
  labels: {{- include "rollcall.selector" . | nindent 4 }}
  annotations:
    # A change of the settings restarts the pod.
    checksum/config: {{ include "rollcall.config" . | sha256sum }}
    {{- if not .Values.metrics.serviceMonitor.enabled }}
    prometheus.io/scrape: "true"
    prometheus.io/port: {{ .Values.metrics.port | quote }}
    prometheus.io/path: /metrics
    {{- end }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "rollcall.name" . }}
  automountServiceAccountToken: {{ ternary true false (eq (include "rollcall.exchanges" .) "yes") }}
  # Because Kubernetes would add variables of the Service that begin with ROLLCALL_, as settings do.
  enableServiceLinks: false
  # 5 s of preStop, the grace period for running requests, and a margin.
  terminationGracePeriodSeconds: {{ add 35 (int .Values.shutdownGraceSeconds) }}
  securityContext: {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "rollcall.selector" . | nindent 10 }}
  containers:
    - name: rollcall
      image: {{ if .Values.image.digest }}{{ printf "%s@%s" .Values.image.repository .Values.image.digest | quote }}{{ else }}{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}{{ end }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: {{ .Values.metrics.port }} }
      env:
        - { name: ROLLCALL_CONFIG, value: /etc/rollcall/rollcall.yml }
        {{- if include "rollcall.onServers" . }}
        - { name: ROLLCALL_EVENTSTORE_URL_FILE, value: /etc/rollcall-secrets/eventstore-url }
        - { name: ROLLCALL_MONGODB_URL_FILE, value: /etc/rollcall-secrets/mongodb-url }
        - { name: ROLLCALL_REDIS_URL_FILE, value: /etc/rollcall-secrets/redis-url }
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - { name: config, mountPath: /etc/rollcall, readOnly: true }
        {{- if include "rollcall.secret" . }}
        - { name: secrets, mountPath: /etc/rollcall-secrets, readOnly: true }
        {{- end }}
        {{- if .Values.ledger.keySecret }}
        - { name: signing-key, mountPath: /etc/rollcall-ledger, readOnly: true }
        {{- end }}
        {{- if .Values.authorities }}
        - { name: authorities, mountPath: /etc/rollcall-authorities, readOnly: true }
        {{- end }}
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
      securityContext: {{- toYaml .Values.securityContext | nindent 8 }}
      # The process is alive at once, and ready when its read models are complete. For a long history the first build takes minutes.
      startupProbe:
        httpGet: { path: /livez, port: http }
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /livez, port: http }
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      lifecycle:
        preStop:
          # Until the pod is removed from the endpoints of the Service, it continues to answer.
          exec: { command: [node, -e, "setTimeout(() => {}, 5000)"] }
      resources: {{- toYaml .Values.resources | nindent 8 }}
  volumes:
    - name: config
      configMap: { name: {{ include "rollcall.name" . }} }
    {{- with include "rollcall.secret" . }}
    - name: secrets
      secret: { secretName: {{ . }}, defaultMode: 288 } # 0440
    {{- end }}
    {{- with .Values.ledger.keySecret }}
    - name: signing-key
      secret: { secretName: {{ . }}, defaultMode: 288 } # 0440
    {{- end }}
    {{- with .Values.authorities }}
    - name: authorities
      configMap: { name: {{ . }} }
    {{- end }}
    {{- if include "rollcall.onServers" . }}
    - name: data
      emptyDir: {}
    {{- end }}
    - name: tmp
      emptyDir: {}
{{- end }}
