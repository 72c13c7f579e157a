{{- define "unalike.selector" -}}
app.kubernetes.io/name: unalike
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "unalike.labels" -}}
{{ include "unalike.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
{{- end }}
{{- /* Of several generators none has the coordinator and the state file of values.yaml. */}}
{{- define "unalike.config" -}}
{{- $config := .Values.config }}
{{- if $config.generators }}{{ $config = omit $config "coordinator" "state" }}{{ end }}
{{- toYaml (merge (dict "listen" ":8080" "admin_listen" ":8081") $config) }}
{{- end }}
{{- define "unalike.scheme" -}}
{{ if .Values.config.tls }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}
