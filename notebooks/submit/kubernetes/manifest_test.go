// Package kubernetes tests package submit with the code of Kubernetes itself. It is a
// separate module, so that nothing else needs that code.
package kubernetes

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1 "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	corev1 "k8s.io/kubernetes/pkg/apis/core/install"
)

// manifest is what paper submit prints.
func manifest(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append(strings.Fields("run ./notebooks/cmd/paper submit -to kubernetes -print"), args...)...)
	cmd.Dir = "../../.."
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return string(text)
}

// refused says why an API server would refuse a manifest, by its own decoder, defaults and
// rules; "" if it would not.
func refused(text string) string {
	scheme := runtime.NewScheme()
	corev1.Install(scheme)
	batchv1.Install(scheme)
	decoded, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder().Decode([]byte(text), nil, nil)
	if err != nil {
		return err.Error()
	}
	job := decoded.(*batch.Job)
	// What the API server adds.
	job.Namespace, job.UID = "default", "1"
	job.Spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: "1"}}
	job.Spec.Template.Labels = map[string]string{batch.JobNameLabel: job.Name, batch.LegacyJobNameLabel: job.Name, batch.ControllerUidLabel: "1", batch.LegacyControllerUidLabel: "1"}
	if errs := validation.ValidateJob(job, validation.JobValidationOptions{RequirePrefixedLabels: true}); len(errs) > 0 {
		return errs.ToAggregate().Error()
	}
	return ""
}

func TestManifest(t *testing.T) {
	good := manifest(t, "music-state", "-image", "registry/contextrec:1", "-claim", "results", "-queue", "team")
	if why := refused(good); why != "" {
		t.Errorf("%s\n%s", why, good)
	}
	// The check notices a misspelt field, a wrong type, a missing value and a broken rule.
	completions := regexp.MustCompile(`completions: [0-9]+`).FindString(good)
	for _, change := range [][2]string{
		{"completionMode", "completionsMode"},
		{completions, "completions: many"},
		{`"results"`, `""`},
		{"restartPolicy: Never", "restartPolicy: OnFailure"},
		{`"team"`, `"two words"`},
	} {
		if bad := strings.Replace(good, change[0], change[1], 1); bad == good || refused(bad) == "" {
			t.Errorf("%q in place of %q is not refused", change[1], change[0])
		}
	}
	for _, name := range []string{"toy-bernoulli-hard", "greed"} {
		text := manifest(t, name, "-image", "i", "-claim", "c", "-tasks", "1")
		if why := refused(text); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}
